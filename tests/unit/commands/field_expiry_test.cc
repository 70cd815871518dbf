// HEXPIRE and its like, and other commands on fields that expire.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

constexpr const char* kFieldsMissing =
    "(error) ERR Mandatory argument FIELDS is missing or not at the right position";
constexpr const char* kNotPositive = "(error) ERR Number of fields must be a positive integer";
constexpr const char* kWrongNumber =
    "(error) ERR The `numfields` parameter must match the number of arguments";
constexpr const char* kNegativeTime = "(error) ERR invalid expire time, must be >= 0";

std::string wrong_arity(const std::string& command) {
  return "(error) ERR wrong number of arguments for '" + command + "' command";
}
std::string invalid_time(const std::string& command) {
  return "(error) ERR invalid expire time in '" + command + "' command";
}

/// Collects events.
class Events final : public KeyEventListener {
 public:
  explicit Events(KeyEvents& events) : events_(events) {
    events_.set_listener(this);
    events_.set_flags(*parse_key_events("KEA"));
  }
  ~Events() override { events_.set_listener(nullptr); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void key_event(std::uint16_t, std::string_view event, std::uint8_t, std::string_view) override {
    noted_.emplace_back(event);
  }
  /// Returns the events since the last call.
  std::vector<std::string> take() { return std::exchange(noted_, {}); }

 private:
  KeyEvents& events_;
  std::vector<std::string> noted_;
};

using Names = std::vector<std::string>;

class FieldExpiryTest : public CommandTest {
 protected:
  static constexpr std::int64_t kStartSeconds = kStartMs / 1000;

  void set_abc() { run("HSET", "h", "a", 1, "b", 2, "c", 3); }
  /// Returns the ttls in ms of "a", "b" and "c".
  std::string ttls() { return text("HPTTL", "h", "FIELDS", 3, "a", "b", "c"); }
  /// Runs a command once, and returns its events.
  template <class... Args>
  Names events_of(Args... args) {
    Events events(keyspace().events());
    const Request request = Request::of(args...);
    CommandContext context(services(), session(), request, CommandContext::Origin::kClient, false);
    EXPECT_FALSE(run_command(context).is_error());
    return events.take();
  }
};

// ---- HEXPIRE and its like ----

TEST_F(FieldExpiryTest, HexpireSetsExpiry) {
  set_abc();
  EXPECT_EQ(text("HEXPIRE", "h", 10, "FIELDS", 2, "a", "none"), "[(integer) 1, (integer) -2]");
  EXPECT_EQ(text("HPEXPIRE", "h", 1500, "fields", 1, "b"), "[(integer) 1]");
  EXPECT_EQ(ttls(), "[(integer) 10000, (integer) 1500, (integer) -1]");
  EXPECT_EQ(text("HTTL", "h", "FIELDS", 4, "a", "b", "c", "d"),
            "[(integer) 10, (integer) 2, (integer) -1, (integer) -2]");
  EXPECT_EQ(text("HEXPIREAT", "h", kStartSeconds + 5, "FIELDS", 1, "a"), "[(integer) 1]");
  EXPECT_EQ(text("HPEXPIREAT", "h", kStartMs + 7, "FIELDS", 1, "b"), "[(integer) 1]");
  EXPECT_EQ(text("HEXPIRETIME", "h", "FIELDS", 2, "a", "c"),
            "[(integer) 1700000005, (integer) -1]");
  EXPECT_EQ(text("HPEXPIRETIME", "h", "FIELDS", 2, "a", "b"),
            "[(integer) 1700000005000, (integer) 1700000000130]");
}

TEST_F(FieldExpiryTest, SecondsAreRoundedUp) {
  set_abc();
  run("HPEXPIREAT", "h", kStartMs + 1, "FIELDS", 1, "a");
  run("HPEXPIREAT", "h", kStartMs + 1001, "FIELDS", 1, "b");
  EXPECT_EQ(text("HTTL", "h", "FIELDS", 2, "a", "b"), "[(integer) 1, (integer) 2]");
  EXPECT_EQ(text("HEXPIRETIME", "h", "FIELDS", 2, "a", "b"),
            "[(integer) 1700000001, (integer) 1700000002]");
}

TEST_F(FieldExpiryTest, PastTimeRemovesField) {
  set_abc();
  EXPECT_EQ(text("HEXPIRE", "h", 0, "FIELDS", 2, "a", "a"), "[(integer) 2, (integer) -2]");
  EXPECT_EQ(text("HPEXPIREAT", "h", kStartMs, "FIELDS", 1, "b"), "[(integer) 2]");
  EXPECT_EQ(text("HKEYS", "h"), R"(["c"])");
  EXPECT_EQ(text("HEXPIREAT", "h", 1, "FIELDS", 2, "c", "d"), "[(integer) 2, (integer) -2]");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
}

TEST_F(FieldExpiryTest, ConditionsProtectExpiry) {
  set_abc();
  run("HPEXPIRE", "h", 100, "FIELDS", 1, "a");
  EXPECT_EQ(text("HPEXPIRE", "h", 200, "NX", "FIELDS", 2, "a", "b"), "[(integer) 0, (integer) 1]");
  EXPECT_EQ(text("HPEXPIRE", "h", 150, "XX", "FIELDS", 2, "a", "c"), "[(integer) 1, (integer) 0]");
  EXPECT_EQ(ttls(), "[(integer) 150, (integer) 200, (integer) -1]");
  EXPECT_EQ(text("HPEXPIRE", "h", 150, "GT", "FIELDS", 3, "a", "b", "c"),
            "[(integer) 0, (integer) 0, (integer) 0]");
  EXPECT_EQ(text("HPEXPIRE", "h", 151, "gt", "FIELDS", 1, "a"), "[(integer) 1]");
  EXPECT_EQ(text("HPEXPIRE", "h", 151, "LT", "FIELDS", 3, "a", "b", "c"),
            "[(integer) 0, (integer) 1, (integer) 1]");
  EXPECT_EQ(ttls(), "[(integer) 151, (integer) 151, (integer) 151]");
  EXPECT_EQ(text("HPEXPIRE", "h", 0, "GT", "FIELDS", 1, "a"), "[(integer) 0]");
  EXPECT_EQ(text("HPEXPIRE", "h", 0, "LT", "FIELDS", 1, "a"), "[(integer) 2]");
}

TEST_F(FieldExpiryTest, HexpireChecksArguments) {
  set_abc();
  run("SET", "s", 1);
  EXPECT_EQ(text("HEXPIRE", "h", 1, "FIELDS", 1), wrong_arity("hexpire"));
  EXPECT_EQ(text("HEXPIRE", "s", "x", "FIELDS", 1, "a"), kWrongType);
  EXPECT_EQ(text("HEXPIRE", "h", "x", "FIELDS", 1, "a"), kNotAnInteger);
  EXPECT_EQ(text("HEXPIRE", "h", -1, "FIELDS", 1, "a"), kNegativeTime);
  EXPECT_EQ(text("HPEXPIREAT", "h", -1, "FIELDS", 1, "a"), kNegativeTime);
  EXPECT_EQ(text("HEXPIRE", "h", 1, "FIELD", 1, "a"), kFieldsMissing);
  EXPECT_EQ(text("HEXPIRE", "h", 1, "NX", "XX", "FIELDS", 1, "a"), kFieldsMissing);
  for (const char* const count : {"0", "-1", "x", "9223372036854775808"}) {
    EXPECT_EQ(text("HEXPIRE", "h", 1, "FIELDS", count, "a"),
              "(error) ERR Parameter `numFields` should be greater than 0");
  }
  EXPECT_EQ(text("HEXPIRE", "h", 1, "FIELDS", 2, "a"), kWrongNumber);
  EXPECT_EQ(text("HEXPIRE", "h", 1, "FIELDS", 1, "a", "b"), kWrongNumber);
  EXPECT_EQ(text("HEXPIRE", "h", 1, "NX", "FIELDS", 1), kWrongNumber);
  EXPECT_EQ(text("HEXPIRE", "none", 1, "FIELDS", 2, "a", "b"), "[(integer) -2, (integer) -2]");
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) -1]");
}

TEST_F(FieldExpiryTest, TimesAreBounded) {
  constexpr std::int64_t kMaxMs = (std::int64_t{1} << 46) - 1;
  set_abc();
  EXPECT_EQ(text("HPEXPIREAT", "h", kMaxMs, "FIELDS", 1, "a"), "[(integer) 1]");
  EXPECT_EQ(text("HPEXPIRE", "h", kMaxMs - kStartMs, "FIELDS", 1, "a"), "[(integer) 1]");
  EXPECT_EQ(text("HEXPIREAT", "h", kMaxMs / 1000, "FIELDS", 1, "a"), "[(integer) 1]");
  EXPECT_EQ(text("HPEXPIREAT", "h", kMaxMs + 1, "FIELDS", 1, "a"), invalid_time("hpexpireat"));
  EXPECT_EQ(text("HPEXPIRE", "h", kMaxMs - kStartMs + 1, "FIELDS", 1, "a"),
            invalid_time("hpexpire"));
  EXPECT_EQ(text("HEXPIREAT", "h", kMaxMs / 1000 + 1, "FIELDS", 1, "a"), invalid_time("hexpireat"));
  EXPECT_EQ(text("HEXPIRE", "h", INT64_MAX, "FIELDS", 1, "a"), invalid_time("hexpire"));
}

TEST_F(FieldExpiryTest, HttlChecksArguments) {
  set_abc();
  run("SET", "s", 1);
  for (const char* const command :
       {"httl", "hpttl", "hexpiretime", "hpexpiretime", "hpersist", "hgetdel"}) {
    EXPECT_EQ(text(command, "h", "FIELDS", 1), wrong_arity(command));
    EXPECT_EQ(text(command, "s", "x", 1, "a"), kWrongType);
    EXPECT_EQ(text(command, "h", "x", 1, "a"), kFieldsMissing);
    EXPECT_EQ(text(command, "h", "FIELDS", 0, "a"), kNotPositive);
    EXPECT_EQ(text(command, "h", "FIELDS", "x", "a"), kNotPositive);
    EXPECT_EQ(text(command, "h", "FIELDS", 2, "a"), kWrongNumber);
    EXPECT_EQ(text(command, "h", "FIELDS", 1, "a", "b"), kWrongNumber);
  }
  for (const char* const command : {"HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME", "HPERSIST"}) {
    EXPECT_EQ(text(command, "none", "FIELDS", 2, "a", "b"), "[(integer) -2, (integer) -2]");
  }
}

TEST_F(FieldExpiryTest, HpersistRemovesExpiry) {
  set_abc();
  run("HEXPIRE", "h", 10, "FIELDS", 1, "a");
  EXPECT_EQ(text("HPERSIST", "h", "FIELDS", 3, "a", "b", "none"),
            "[(integer) 1, (integer) -1, (integer) -2]");
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) -1]");
  advance_ms(10'000);
  EXPECT_EQ(text("HLEN", "h"), "(integer) 3");
}

// ---- HGETDEL, HGETEX, HSETEX ----

TEST_F(FieldExpiryTest, HgetdelTakesFields) {
  set_abc();
  run("HEXPIRE", "h", 10, "FIELDS", 1, "a");
  EXPECT_EQ(text("HGETDEL", "h", "FIELDS", 3, "a", "none", "a"), R"(["1", (nil), (nil)])");
  run("HSET", "h", "a", 4);
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) -1]");
  EXPECT_EQ(text("HGETDEL", "h", "FIELDS", 4, "c", "b", "a", "b"), R"(["3", "2", "4", (nil)])");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
  EXPECT_EQ(text("HGETDEL", "h", "FIELDS", 1, "a"), "[(nil)]");
}

TEST_F(FieldExpiryTest, TooLargeReplyTakesNothing) {
  run("HSET", "h", "a", std::string(600, 'x'), "b", std::string(600, 'x'));
  session().reply_bytes_max = 1'000;
  EXPECT_TRUE(run("HGETDEL", "h", "FIELDS", 2, "a", "b").is_error());
  EXPECT_TRUE(run("HGETEX", "h", "EX", 5, "FIELDS", 2, "a", "b").is_error());
  EXPECT_EQ(text("HTTL", "h", "FIELDS", 2, "a", "b"), "[(integer) -1, (integer) -1]");
}

TEST_F(FieldExpiryTest, HgetexSetsExpiry) {
  set_abc();
  EXPECT_EQ(text("HGETEX", "h", "FIELDS", 2, "a", "none"), R"(["1", (nil)])");
  EXPECT_EQ(text("HGETEX", "h", "EX", 10, "FIELDS", 1, "a"), R"(["1"])");
  EXPECT_EQ(text("HGETEX", "h", "px", 20, "FIELDS", 2, "b", "none"), R"(["2", (nil)])");
  EXPECT_EQ(ttls(), "[(integer) 10000, (integer) 20, (integer) -1]");
  run("HGETEX", "h", "EXAT", kStartSeconds + 1, "FIELDS", 1, "a");
  run("HGETEX", "h", "PXAT", kStartMs + 1, "FIELDS", 1, "c");
  EXPECT_EQ(ttls(), "[(integer) 877, (integer) 20, (integer) 1]");
  EXPECT_EQ(text("HGETEX", "h", "FIELDS", 1, "a"), R"(["1"])");
  EXPECT_EQ(text("HGETEX", "h", "PERSIST", "FIELDS", 2, "a", "b"), R"(["1", "2"])");
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) 1]");
  EXPECT_EQ(text("HGETEX", "h", "PXAT", 1, "FIELDS", 4, "a", "b", "c", "a"),
            R"(["1", "2", "3", (nil)])");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
}

TEST_F(FieldExpiryTest, HgetexChecksArguments) {
  set_abc();
  run("SET", "s", 1);
  EXPECT_EQ(text("HGETEX", "h", "FIELDS", 1), wrong_arity("hgetex"));
  EXPECT_EQ(text("HGETEX", "s", "EX", "x", "FIELDS", 1, "a"), kWrongType);
  EXPECT_EQ(text("HGETEX", "h", "EX", "x", "FIELDS", 1, "a"), kNotAnInteger);
  EXPECT_EQ(text("HGETEX", "h", "PX", -1, "FIELDS", 1, "a"), kNegativeTime);
  EXPECT_EQ(text("HGETEX", "h", "EX", INT64_MAX, "FIELDS", 1, "a"), invalid_time("hgetex"));
  EXPECT_EQ(text("HGETEX", "h", "PXAT", 1, 1), kFieldsMissing);
  EXPECT_EQ(text("HGETEX", "h", "PERSIST", 1, "FIELDS", 1, "a"), kFieldsMissing);
  EXPECT_EQ(text("HGETEX", "h", "EX", 1, "PERSIST", "FIELDS", 1, "a"), kFieldsMissing);
  EXPECT_EQ(text("HGETEX", "h", "FIELDS", 0, "a"), kNotPositive);
  EXPECT_EQ(text("HGETEX", "h", "FIELDS", 2, "a"), kWrongNumber);
  EXPECT_EQ(text("HGETEX", "none", "EX", 1, "FIELDS", 2, "a", "b"), "[(nil), (nil)]");
}

TEST_F(FieldExpiryTest, HsetexSetsFieldsAndExpiry) {
  EXPECT_EQ(text("HSETEX", "h", "EX", 10, "FIELDS", 2, "a", 1, "b", 2), "(integer) 1");
  EXPECT_EQ(text("HSETEX", "h", "FIELDS", 2, "b", 3, "c", 4), "(integer) 1");
  EXPECT_EQ(ttls(), "[(integer) 10000, (integer) -1, (integer) -1]");
  EXPECT_EQ(text("HSETEX", "h", "KEEPTTL", "FIELDS", 2, "a", 5, "b", 6), "(integer) 1");
  EXPECT_EQ(ttls(), "[(integer) 10000, (integer) -1, (integer) -1]");
  EXPECT_EQ(text("HSETEX", "h", "PXAT", kStartMs + 9, "FIELDS", 1, "a", 7), "(integer) 1");
  EXPECT_EQ(ttls(), "[(integer) 9, (integer) -1, (integer) -1]");
  EXPECT_EQ(text("HMGET", "h", "a", "b", "c"), R"(["7", "6", "4"])");
}

TEST_F(FieldExpiryTest, HsetexObeysConditions) {
  EXPECT_EQ(text("HSETEX", "h", "FXX", "FIELDS", 1, "a", 1), "(integer) 0");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
  EXPECT_EQ(text("HSETEX", "h", "FNX", "EX", 1, "FIELDS", 1, "a", 1), "(integer) 1");
  EXPECT_EQ(text("HSETEX", "h", "fnx", "FIELDS", 2, "b", 2, "a", 2), "(integer) 0");
  EXPECT_EQ(text("HSETEX", "h", "PX", 5, "FXX", "FIELDS", 2, "a", 2, "b", 2), "(integer) 0");
  EXPECT_EQ(ttls(), "[(integer) 1000, (integer) -2, (integer) -2]");
  EXPECT_EQ(text("HSETEX", "h", "PX", 5, "FXX", "FIELDS", 1, "a", 2), "(integer) 1");
  EXPECT_EQ(ttls(), "[(integer) 5, (integer) -2, (integer) -2]");
  advance_ms(5);
  EXPECT_EQ(text("HSETEX", "h", "FXX", "FIELDS", 1, "a", 2), "(integer) 0");
  EXPECT_EQ(text("HSETEX", "h", "FNX", "FIELDS", 1, "a", 3), "(integer) 1");
}

TEST_F(FieldExpiryTest, HsetexWithPastTimeRemovesFields) {
  EXPECT_EQ(text("HSETEX", "h", "PXAT", 1, "FIELDS", 2, "a", 1, "a", 2), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
  set_abc();
  EXPECT_EQ(text("HSETEX", "h", "EX", 0, "FIELDS", 2, "a", 1, "d", 2), "(integer) 1");
  EXPECT_EQ(text("HKEYS", "h"), R"(["b", "c"])");
}

TEST_F(FieldExpiryTest, HsetexChecksArguments) {
  constexpr const char* kOneExpiry =
      "(error) ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified";
  constexpr const char* kOneCondition =
      "(error) ERR Only one of FXX or FNX arguments can be specified";
  run("SET", "s", 1);
  EXPECT_EQ(text("HSETEX", "h", "FIELDS", 1, "a"), wrong_arity("hsetex"));
  EXPECT_EQ(text("HSETEX", "h", "FIELDS", 1, "a", 1, "b"), wrong_arity("hsetex"));
  EXPECT_EQ(text("HSETEX", "h", "FIELDS", 2, "a", 1), wrong_arity("hsetex"));
  EXPECT_EQ(text("HSETEX", "h", "EX", 1, "FIELDS", 1), wrong_arity("hsetex"));
  EXPECT_EQ(text("HSETEX", "s", "FIELDS", 1, "a", 1), kWrongType);
  EXPECT_EQ(text("HSETEX", "s", "FNX", "x", "FIELDS", 1, "a", 1),
            "(error) ERR unknown argument: x");
  EXPECT_EQ(text("HSETEX", "h", "EX", "x", "FIELDS", 1, "a", 1), kNotAnInteger);
  EXPECT_EQ(text("HSETEX", "h", "EX", -1, "FIELDS", 1, "a", 1), kNegativeTime);
  EXPECT_EQ(text("HSETEX", "h", "EX", INT64_MAX, "FIELDS", 1, "a", 1), invalid_time("hsetex"));
  EXPECT_EQ(text("HSETEX", "h", "EX", 1, "PX", 1, "FIELDS", 1, "a", 1), kOneExpiry);
  EXPECT_EQ(text("HSETEX", "h", "KEEPTTL", "EX", 1, "FIELDS", 1, "a", 1), kOneExpiry);
  EXPECT_EQ(text("HSETEX", "h", "EX", 1, "KEEPTTL", "FIELDS", 1, "a", 1), kOneExpiry);
  EXPECT_EQ(text("HSETEX", "h", "FNX", "FXX", "FIELDS", 1, "a", 1), kOneCondition);
  EXPECT_EQ(text("HSETEX", "h", "FXX", "FXX", "FIELDS", 1, "a", 1), kOneCondition);
  for (const char* const count : {"0", "-1", "x", "2147483648"}) {
    EXPECT_EQ(text("HSETEX", "h", "FIELDS", count, "a", 1), "(error) ERR invalid number of fields");
  }
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
}

// ---- Other commands ----

TEST_F(FieldExpiryTest, SettingFieldRemovesExpiry) {
  set_abc();
  run("HEXPIRE", "h", 10, "FIELDS", 3, "a", "b", "c");
  run("HSET", "h", "a", 5);
  run("HMSET", "h", "b", 5);
  EXPECT_EQ(text("HSETNX", "h", "c", 5), "(integer) 0");
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) 10000]");
}

TEST_F(FieldExpiryTest, IncrementsKeepExpiry) {
  set_abc();
  run("HEXPIRE", "h", 10, "FIELDS", 2, "a", "b");
  EXPECT_EQ(text("HINCRBY", "h", "a", 2), "(integer) 3");
  EXPECT_EQ(text("HINCRBYFLOAT", "h", "b", "0.5"), R"("2.5")");
  EXPECT_EQ(ttls(), "[(integer) 10000, (integer) 10000, (integer) -1]");
  advance_ms(10'000);
  EXPECT_EQ(text("HINCRBY", "h", "a", 2), "(integer) 2");
  EXPECT_EQ(text("HINCRBYFLOAT", "h", "b", 2), R"("2")");
  EXPECT_EQ(ttls(), "[(integer) -1, (integer) -1, (integer) -1]");
}

/// Runs commands on a hash with the field "c", and expired fields "a" and "b".
class ExpiredFieldTest : public FieldExpiryTest {
 protected:
  virtual void expire() {
    run("DEL", "h");
    set_abc();
    run("HPEXPIRE", "h", 1, "FIELDS", 2, "a", "b");
    commit();
    advance_ms(1);
  }
  template <class... Args>
  std::string after_expiry(Args... args) {
    expire();
    return text(args...);
  }
  void expect_unseen();
};

void ExpiredFieldTest::expect_unseen() {
  EXPECT_EQ(after_expiry("HGET", "h", "a"), "(nil)");
  EXPECT_EQ(after_expiry("HMGET", "h", "a", "c"), R"([(nil), "3"])");
  EXPECT_EQ(after_expiry("HLEN", "h"), "(integer) 1");
  EXPECT_EQ(after_expiry("HEXISTS", "h", "b"), "(integer) 0");
  EXPECT_EQ(after_expiry("HSTRLEN", "h", "b"), "(integer) 0");
  EXPECT_EQ(after_expiry("HKEYS", "h"), R"(["c"])");
  EXPECT_EQ(after_expiry("HVALS", "h"), R"(["3"])");
  expire();
  EXPECT_EQ(run("HGETALL", "h").elements().size(), 2U);
  EXPECT_EQ(after_expiry("HRANDFIELD", "h", 5), R"(["c"])");
  EXPECT_EQ(after_expiry("HDEL", "h", "a", "b"), "(integer) 0");
  EXPECT_EQ(after_expiry("HSETNX", "h", "a", 1), "(integer) 1");
  EXPECT_EQ(after_expiry("HTTL", "h", "FIELDS", 1, "a"), "[(integer) -2]");
  EXPECT_EQ(after_expiry("HPERSIST", "h", "FIELDS", 1, "a"), "[(integer) -2]");
  EXPECT_EQ(after_expiry("HEXPIRE", "h", 5, "FIELDS", 1, "a"), "[(integer) -2]");
  EXPECT_EQ(after_expiry("HGETDEL", "h", "FIELDS", 1, "a"), "[(nil)]");
  EXPECT_EQ(after_expiry("HGETEX", "h", "FIELDS", 1, "a"), "[(nil)]");
  EXPECT_EQ(after_expiry("EVAL", "return redis.call('hlen', KEYS[1])", 1, "h"), "(integer) 1");
  expire();
  run("RPUSH", "l", "h");
  EXPECT_EQ(text("SORT", "l", "BY", "nosort", "GET", "*->a", "GET", "*->c"), R"([(nil), "3"])");
}

TEST_F(ExpiredFieldTest, NoCommandSeesIt) {
  expect_unseen();
  EXPECT_EQ(after_expiry("HSCAN", "h", 0), R"(["0", ["c", "3"]])");
}

/// A large hash, of which a lookup removes other fields than "a" and "b".
class HiddenFieldTest : public ExpiredFieldTest {
 protected:
  void expire() override {
    run("DEL", "h");
    run("HSET", "h", "!", std::string(100, 'x'));
    for (int i = 0; i < 100; ++i) run("HSET", "h", "!" + std::to_string(i), i);
    for (int i = 0; i < 100; ++i) run("HPEXPIRE", "h", 1, "FIELDS", 1, "!" + std::to_string(i));
    run("HPEXPIRE", "h", 1, "FIELDS", 1, "!");
    set_abc();
    run("HPEXPIRE", "h", 1, "FIELDS", 2, "a", "b");
    commit();
    advance_ms(1);
  }
};

TEST_F(HiddenFieldTest, NoCommandSeesIt) {
  expect_unseen();
  expire();
  std::string seen;
  std::string cursor = "0";
  do {
    const Reply reply = run("HSCAN", "h", cursor);
    cursor = reply.elements()[0].text();
    for (const Reply& element : reply.elements()[1].elements()) seen += element.text() + ' ';
  } while (cursor != "0");
  EXPECT_EQ(seen, "c 3 ");
}

TEST_F(FieldExpiryTest, LastExpiredFieldRemovesKey) {
  set_abc();
  run("HPEXPIRE", "h", 1, "FIELDS", 3, "a", "b", "c");
  advance_ms(1);
  EXPECT_EQ(text("KEYS", "*"), "[]");
  EXPECT_EQ(text("SCAN", 0), R"(["0", []])");
  EXPECT_EQ(text("DBSIZE"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "h"), "(integer) 0");
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
  EXPECT_EQ(text("TYPE", "h"), "none");
  EXPECT_EQ(text("HSET", "h", "a", 1), "(integer) 1");
  EXPECT_EQ(text("HTTL", "h", "FIELDS", 1, "a"), "[(integer) -1]");
}

TEST_F(FieldExpiryTest, CopyAndRenameKeepExpiry) {
  set_abc();
  run("HPEXPIRE", "h", 5, "FIELDS", 1, "a");
  run("COPY", "h", "copy");
  run("RENAME", "h", "renamed");
  run("MOVE", "copy", 1);
  EXPECT_EQ(text("HPTTL", "renamed", "FIELDS", 2, "a", "b"), "[(integer) 5, (integer) -1]");
  advance_ms(5);
  EXPECT_EQ(text("HLEN", "renamed"), "(integer) 2");
  run("SELECT", 1);
  EXPECT_EQ(text("HLEN", "copy"), "(integer) 2");
}

TEST_F(FieldExpiryTest, ScriptSeesOneTime) {
  set_abc();
  const char* const script =
      "redis.call('hpexpire', KEYS[1], 1, 'FIELDS', 1, 'a') "
      "return {redis.call('hget', KEYS[1], 'a'), redis.call('hpttl', KEYS[1], 'FIELDS', 1, 'a')}";
  EXPECT_EQ(text("EVAL", script, 1, "h"), R"(["1", [(integer) 1]])");
}

TEST_F(FieldExpiryTest, DumpRefusesExpiringFields) {
  set_abc();
  run("HEXPIRE", "h", 5, "FIELDS", 1, "a");
  EXPECT_EQ(text("DUMP", "h"),
            "(error) ERR a hash with fields that expire cannot be dumped: the format of Redis 7.0 "
            "has no expiries of fields");
  run("HPERSIST", "h", "FIELDS", 1, "a");
  EXPECT_FALSE(run("DUMP", "h").is_error());
}

TEST_F(FieldExpiryTest, EncodingAndDigestShowExpiries) {
  services().settings.debug_commands = true;
  set_abc();
  EXPECT_EQ(text("OBJECT", "ENCODING", "h"), R"("listpack")");
  const std::string digest = text("DEBUG", "DIGEST-VALUE", "h");
  run("HEXPIRE", "h", 5, "FIELDS", 1, "a");
  EXPECT_EQ(text("OBJECT", "ENCODING", "h"), R"("listpackex")");
  EXPECT_NE(text("DEBUG", "DIGEST-VALUE", "h"), digest);
  run("HPERSIST", "h", "FIELDS", 1, "a");
  EXPECT_EQ(text("DEBUG", "DIGEST-VALUE", "h"), digest);
}

// ---- Events, WATCH, pauses ----

TEST_F(FieldExpiryTest, CommandsPublishEvents) {
  EXPECT_EQ(events_of("HSETEX", "h", "EX", 9, "FIELDS", 2, "a", 1, "b", 2),
            (Names{"hset", "hexpire"}));
  EXPECT_EQ(events_of("HSETEX", "h", "FIELDS", 2, "c", 1, "d", 2), Names{"hset"});
  EXPECT_EQ(events_of("HEXPIRE", "h", 5, "FIELDS", 2, "a", "none"), Names{"hexpire"});
  EXPECT_EQ(events_of("HEXPIRE", "h", 5, "NX", "FIELDS", 1, "a"), Names{});
  EXPECT_EQ(events_of("HEXPIRE", "h", 0, "FIELDS", 1, "a"), Names{"hdel"});
  EXPECT_EQ(events_of("HPERSIST", "h", "FIELDS", 2, "b", "c"), Names{"hpersist"});
  EXPECT_EQ(events_of("HPERSIST", "h", "FIELDS", 2, "b", "c"), Names{});
  EXPECT_EQ(events_of("HGETEX", "h", "FIELDS", 1, "b"), Names{});
  EXPECT_EQ(events_of("HGETEX", "h", "EX", 5, "FIELDS", 1, "b"), Names{"hexpire"});
  EXPECT_EQ(events_of("HGETEX", "h", "PERSIST", "FIELDS", 1, "b"), Names{"hpersist"});
  EXPECT_EQ(events_of("HGETEX", "h", "PXAT", 1, "FIELDS", 1, "b"), Names{"hdel"});
  EXPECT_EQ(events_of("HGETDEL", "h", "FIELDS", 1, "c"), Names{"hdel"});
  EXPECT_EQ(events_of("HGETDEL", "h", "FIELDS", 1, "c"), Names{});
  EXPECT_EQ(events_of("HGETDEL", "h", "FIELDS", 1, "d"), (Names{"hdel", "del"}));
  EXPECT_EQ(events_of("HSETEX", "h", "PXAT", 1, "FIELDS", 1, "a", 1),
            (Names{"hset", "hdel", "del"}));
}

TEST_F(FieldExpiryTest, ExpiryPublishesEvents) {
  set_abc();
  run("HPEXPIRE", "h", 1, "FIELDS", 2, "a", "b");
  run("HPEXPIRE", "h", 2, "FIELDS", 1, "c");
  advance_ms(1);
  EXPECT_EQ(events_of("HGET", "h", "a"), Names{"hexpired"});
  advance_ms(1);
  EXPECT_EQ(events_of("HGET", "h", "a"), (Names{"hexpired", "del"}));
}

TEST_F(FieldExpiryTest, ExpiryBreaksWatch) {
  set_abc();
  run("HPEXPIRE", "h", 1, "FIELDS", 1, "a");
  commit();
  run("WATCH", "h");
  advance_ms(1);
  run("MULTI");
  run("SET", "k", 1);
  EXPECT_TRUE(run("EXEC").is_nil());
}

TEST_F(FieldExpiryTest, FieldsAreDrawnFromTheFewVisibleOnes) {
  constexpr int kHidden = 5'000;
  Request set = Request::of("HSET", "h", "a", "v", 1, "v");
  Request expire = Request::of("HPEXPIRE", "h", 1, "FIELDS", kHidden);
  for (int i = 0; i < kHidden; ++i) {
    const std::string field = "f" + std::to_string(i);
    set.add(field);
    set.add("v");
    expire.add(field);
  }
  run_request(set);
  run_request(expire);
  commit();
  run("CLIENT", "PAUSE", 1'000, "WRITE");
  advance_ms(1);
  const auto drawn = [this](int count) {
    const Reply reply = run("HRANDFIELD", "h", count);
    std::set<std::string> names;
    for (const Reply& field : reply.elements()) names.insert(field.text());
    return names;
  };
  const std::set<std::string> visible{"1", "a"};
  EXPECT_EQ(drawn(10), visible);
  EXPECT_EQ(drawn(-10'000), visible);
  EXPECT_EQ(drawn(1).size(), 1U);
  EXPECT_TRUE(visible.contains(run("HRANDFIELD", "h").text()));
}

TEST_F(FieldExpiryTest, PauseHidesExpiredFields) {
  set_abc();
  run("HPEXPIRE", "h", 1, "FIELDS", 2, "a", "b");
  run("HSET", "all", "a", 1);
  run("HPEXPIRE", "all", 1, "FIELDS", 1, "a");
  commit();
  run("CLIENT", "PAUSE", 1'000, "WRITE");
  advance_ms(1);
  EXPECT_EQ(text("HKEYS", "h"), R"(["c"])");
  EXPECT_EQ(text("HLEN", "all"), "(integer) 0");
  EXPECT_TRUE(keyspace().changes().empty());
  EXPECT_EQ(keyspace().db(0).size(), 2U);
  run("CLIENT", "UNPAUSE");
  EXPECT_EQ(text("HKEYS", "h"), R"(["c"])");
  EXPECT_EQ(text("EXISTS", "all"), "(integer) 0");
  EXPECT_EQ(keyspace().db(0).size(), 1U);
}

}  // namespace
}  // namespace rushgate
