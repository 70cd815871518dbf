// The field's scripts give equal raw replies and leave equal keyspaces on four backends. These are
// a redis-server, the embedded engine (memory and RocksDB), and `rushgate serve`.
#include "tests/conformance/field_scripts/field_scripts.h"

#include <cctype>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engine/core/base/sha1.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/field_scripts/keyspace_dump.h"
#include "tests/conformance/field_scripts/program_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/stored_backend.h"

namespace rushgate::testing {
namespace {

using Words = std::vector<std::string>;

// ---- The table ----------------------------------------------------------------------------------

/// A script, and the function that maps a `run` of the table to KEYS and ARGV.
struct FieldScript {
  const char* name;
  std::string_view text;
  std::pair<Words, Words> (*arguments)(const Words& words);
};

/// A state of the keyspace, and the steps in it, one per line:
///
///     run <words>      runs the script by EVALSHA, or by EVAL if it is unknown
///     elapse <ms>      moves the clock: past a deadline by 1 ms, since Redis still shows a key in
///     the
///                      millisecond of its deadline (docs/differences.md)
///     <command>        with `$text`, `$sha` and `$SHA` for the script and its hash
struct State {
  const char* name;
  std::vector<std::string> lines;
  std::string results;  // of each `run`: the integer, or E for an error
};

// run <voucher> <user> <order>
const FieldScript kBuildingKeys = {"BuildingKeys", kAdmissionBuildingKeys,
                                   [](const Words& words) { return std::pair(Words{}, words); }};
const FieldScript kPassingKeys = {
    "PassingKeys", kAdmissionPassingKeys, [](const Words& words) {
      return std::pair(Words{"seckill:order:" + words[0], "seckill:stock:" + words[0]},
                       Words{words[1], words[2], words[0]});
    }};
const std::vector<State> kAdmissionStates = {
    {"OnSale",
     {"SET seckill:stock:7 2", "run 7 1001 11", "run 7 1002 12", "run 7 1003 13"},
     "0 0 1"},
    {"NotBegun", {"run 7 1001 11", "SET seckill:stock:7 2", "run 7 1001 12"}, "E 0"},
    {"Ended",
     {"SET seckill:stock:7 2 PX 1000", "run 7 1001 11", "elapse 999", "run 7 1002 12",
      "SET seckill:stock:7 2 PX 1000", "elapse 1001", "run 7 1003 13"},
     "0 0 E"},
    {"StockLost", {"SADD seckill:order:7 1001", "run 7 1001 11", "run 7 1002 12"}, "E E"},
    {"SoldOut", {"SET seckill:stock:7 0", "run 7 1001 11"}, "1"},
    {"OversoldBefore", {"SET seckill:stock:7 -3", "run 7 1001 11"}, "1"},
    {"BoughtAlready",
     {"SET seckill:stock:7 5", "SADD seckill:order:7 1001", "run 7 1001 11", "run 7 1002 12",
      "run 7 1002 13"},
     "2 0 2"},
    {"BoughtAlreadyAndSoldOut",
     {"SET seckill:stock:7 0", "SADD seckill:order:7 1001", "run 7 1001 11"},
     "1"},
    {"TwoVouchers",
     {"SET seckill:stock:7 1", "SET seckill:stock:8 1", "run 7 1001 11", "run 8 1001 12",
      "run 8 1002 13", "run 7 1002 14"},
     "0 0 1 1"},
    {"StockOfWrongType", {"RPUSH seckill:stock:7 5", "run 7 1001 11"}, "E"},
    {"BuyersOfWrongType",
     {"SET seckill:stock:7 5", "SET seckill:order:7 1001", "run 7 1001 11"},
     "E"},
    // Writes before the failure stay: stock is taken, and the user is a buyer.
    {"OrdersOfWrongType",
     {"SET seckill:stock:7 5", "SET stream.orders x", "run 7 1001 11", "run 7 1001 12"},
     "E 2"},
    {"LastIdOfStreamUsed",
     {"SET seckill:stock:7 5", "XADD stream.orders 18446744073709551615-18446744073709551615 a b",
      "run 7 1001 11"},
     "E"},
    {"StreamAheadOfClock",
     {"SET seckill:stock:7 5", "XADD stream.orders 9999999999999-7 a b", "run 7 1001 11"},
     "0"},
    {"StockWithDecimals",
     {"SET seckill:stock:7 1.5", "run 7 1001 11", "SET seckill:stock:7 0.5", "run 7 1001 12",
      "SET seckill:stock:7 -0.5", "run 7 1001 13", "SET seckill:stock:7 2.0", "run 7 1001 14"},
     "E E 1 E"},
    {"StockInOtherNotations",
     {"SET seckill:stock:7 0x10", "run 7 1001 11", "SET seckill:stock:7 1e2", "run 7 1001 12",
      "SET seckill:stock:7 +5", "run 7 1001 13", "SET seckill:stock:7 05", "run 7 1001 14",
      "SET seckill:stock:7 nan", "run 7 1001 15", "SET seckill:stock:7 inf", "run 7 1001 16"},
     "E E E E E E"},
    {"StockThatIsNoNumber",
     {"SET seckill:stock:7 many", "run 7 1001 11", "SET seckill:stock:7 ", "run 7 1001 12"},
     "E E"},
    {"StockAtTheLargestInteger",
     {"SET seckill:stock:7 9223372036854775807", "run 7 1001 11",
      "SET seckill:stock:7 9223372036854775808", "run 7 1002 12"},
     "0 E"},
    {"UsersThatAreNoIntegers",
     {"SET seckill:stock:7 9", "run 7 1.5 11", "run 7 1.50 12", "run 7 01001 13", "run 7 1001 14",
      "run 7 user@shop 15", "run 7  16"},
     "0 0 0 0 0 0"},
    {"OrdersBeyondTheIntegersOfLua",
     {"SET seckill:stock:7 9", "run 7 9007199254740993 9223372036854775807"},
     "0"},
    {"ArgumentsMissing",
     {"SET seckill:stock:7 9", "SET seckill:stock: 9", "EVAL $text 0", "EVAL $text 0 7",
      "EVAL $text 0 7 1001", "EVAL $text 2 seckill:order:7 seckill:stock:7",
      "EVAL $text 2 seckill:order:7 seckill:stock:7 1001",
      "EVAL $text 2 seckill:order:7 seckill:stock:7 1002 11"},
     ""},
    {"ScriptNotLoaded",
     {"SET seckill:stock:7 2", "EVALSHA $sha 0 7 1001 11", "SCRIPT EXISTS $sha",
      "SCRIPT LOAD $text", "SCRIPT EXISTS $sha", "EVALSHA $sha 0 7 1001 11",
      "EVALSHA $SHA 2 seckill:order:7 seckill:stock:7 1002 12 7"},
     ""},
    {"ScriptsFlushed",
     {"SET seckill:stock:7 3", "run 7 1001 11", "SCRIPT FLUSH", "EVALSHA $sha 0 7 1002 12",
      "EVALSHA $SHA 2 seckill:order:7 seckill:stock:7 1002 12 7", "run 7 1002 12"},
     "0 0"},
    {"ScriptKnownAfterItFailed", {"EVAL $text 0", "SCRIPT EXISTS $sha", "EVALSHA $sha 0"}, ""},
    {"InTransaction",
     {"SET seckill:stock:7 2", "MULTI", "EVALSHA $sha 0 7 1001 11", "EVAL $text 0 7 1001 11",
      "EVAL $text 2 seckill:order:7 seckill:stock:7 1002 12 7", "EVALSHA $sha 0 7 1003 13", "EXEC"},
     ""},
    {"ReadOnly",
     {"SET seckill:stock:7 1", "EVAL_RO $text 0 7 1001 11",
      "EVAL_RO $text 2 seckill:order:7 seckill:stock:7 1001 11 7", "SET seckill:stock:7 0",
      "EVAL_RO $text 0 7 1001 11", "EVAL_RO $text 2 seckill:order:7 seckill:stock:7 1001 11 7"},
     ""},
    {"WorkerReadsTheOrders",
     {"SET seckill:stock:7 2", "XGROUP CREATE stream.orders g1 0 MKSTREAM", "run 7 1001 11",
      "XREADGROUP GROUP g1 c1 COUNT 1 STREAMS stream.orders >", "run 7 1002 12",
      "XREADGROUP GROUP g1 c1 COUNT 1 STREAMS stream.orders >",
      "XREADGROUP GROUP g1 c1 COUNT 1 STREAMS stream.orders 0", "XPENDING stream.orders g1"},
     "0 0"},
};

// run <per day> <per user> <total> <user> <coupon> [<user's hash>]
const FieldScript kThreeLimits = {
    "Coupon", kCoupon, [](const Words& words) {
      const std::string users = words.size() > 5 ? words[5] : "coupon:user:" + words[3];
      return std::pair(Words{"coupon:today:" + words[4], users, "coupon:total"},
                       Words(words.begin(), words.begin() + 5));
    }};
const std::vector<State> kCouponStates = {
    {"FirstCoupon", {"run 1 2 3 1001 7"}, "0"},
    {"DayLimitReached", {"run 1 2 3 1001 7", "run 1 2 3 1001 7", "run 1 2 3 1002 7"}, "0 1 0"},
    {"UserLimitReached",
     {"run 1 2 9 1001 7", "DEL coupon:today:7", "run 1 2 9 1001 7", "DEL coupon:today:7",
      "run 1 2 9 1001 7"},
     "0 0 2"},
    {"TotalReached",
     {"run 1 2 2 1001 7", "run 1 2 2 1002 7", "run 1 2 2 1003 7", "run 1 2 2 1003 8"},
     "0 0 3 0"},
    {"AllLimitsReached",
     {"HSET coupon:today:7 1001 1", "HSET coupon:user:1001 7 2", "HSET coupon:total 7 3",
      "run 1 2 3 1001 7", "DEL coupon:today:7", "run 1 2 3 1001 7", "DEL coupon:user:1001",
      "run 1 2 3 1001 7"},
     "1 2 3"},
    {"DayPasses",
     {"run 1 2 9 1001 7", "PEXPIRE coupon:today:7 1000", "run 1 2 9 1001 7", "elapse 1001",
      "run 1 2 9 1001 7"},
     "0 1 0"},
    {"LimitOfNone", {"run 0 2 3 1001 7", "run 1 0 3 1001 7", "run 1 2 0 1001 7"}, "1 2 3"},
    {"NegativeCount", {"HSET coupon:total 7 -5", "run 1 2 1 1001 7", "run 2 2 1 1001 7"}, "0 0"},
    {"LimitsWithDecimals",
     {"run 1.5 2 9 1001 7", "run 1.5 2 9 1001 7", "run 1.5 2 9 1001 7"},
     "0 0 1"},
    // The first hash has counted when the second one fails.
    {"CountWithDecimals", {"HSET coupon:user:1001 7 0.5", "run 1 2 3 1001 7"}, "E"},
    {"CountThatIsNoNumber", {"HSET coupon:user:1001 7 many", "run 1 2 3 1001 7"}, "E"},
    {"CountAtTheLargestInteger",
     {"HSET coupon:total 7 9223372036854775807", "run 1 2 9223372036854775808 1001 7",
      "run 1 2 9999999999999999999999 1001 7"},
     "3 E"},
    {"LimitThatIsNoNumber", {"run one 2 3 1001 7"}, "E"},
    {"TodayOfWrongType", {"SET coupon:today:7 x", "run 1 2 3 1001 7"}, "E"},
    {"UserOfWrongType", {"SET coupon:user:1001 x", "run 1 2 3 1001 7"}, "E"},
    {"TotalOfWrongType", {"SADD coupon:total 7", "run 1 2 3 1001 7"}, "E"},
    {"OneHashForAllUsers",
     {"run 1 2 9 1001 7 coupon:users", "run 1 2 9 1002 7 coupon:users",
      "run 1 2 9 1003 7 coupon:users"},
     "0 0 2"},
    {"OneHashForAll",
     {"EVAL $text 3 coupon:all coupon:all coupon:all 1 9 9 7 7",
      "EVAL $text 3 coupon:all coupon:all coupon:all 9 9 9 7 7"},
     ""},
    {"ArgumentsMissing",
     {"EVAL $text 0", "EVAL $text 3 a b c", "EVAL $text 3 a b c 1 2 3",
      "EVAL $text 3 a b c 1 2 3 u", "EVAL $text 1 a 1 2 3 1001 7", "EVAL $text 2 a b 1 2 3 1001 7"},
     ""},
    {"ScriptsFlushed",
     {"SCRIPT LOAD $text", "EVALSHA $SHA 3 a b c 1 2 3 1001 7", "SCRIPT FLUSH",
      "EVALSHA $sha 3 a b c 1 2 3 1001 7", "run 1 2 3 1001 7"},
     "0"},
};

// run <lock> <owner>
const FieldScript kLock = {"Unlock", kUnlock, [](const Words& words) {
                             return std::pair(Words{words[0]}, Words{words[1]});
                           }};
const std::vector<State> kLockStates = {
    {"Owner",
     {"SET lock:order:1 a-1 NX PX 10000", "run lock:order:1 a-1", "run lock:order:1 a-1"},
     "1 0"},
    {"AnotherOwner", {"SET lock:order:1 a-1 NX PX 10000", "run lock:order:1 a-2"}, "0"},
    {"BeginningOfOwner", {"SET lock:order:1 a-11 NX PX 10000", "run lock:order:1 a-1"}, "0"},
    {"NoLock", {"run lock:order:1 a-1"}, "0"},
    {"Expired", {"SET lock:order:1 a-1 NX PX 10000", "elapse 10001", "run lock:order:1 a-1"}, "0"},
    {"ExpiredAndTakenByAnother",
     {"SET lock:order:1 a-1 NX PX 10000", "elapse 10001", "SET lock:order:1 b-1 NX PX 10000",
      "run lock:order:1 a-1", "run lock:order:1 b-1"},
     "0 1"},
    {"NumberAsOwner",
     {"SET lock:order:1 17", "run lock:order:1 17.0", "run lock:order:1 17"},
     "0 1"},
    {"EmptyOwner", {"run lock:order:1 ", "SET lock:order:1 ", "run lock:order:1 "}, "0 1"},
    {"WrongType", {"HSET lock:order:1 a-1 1", "run lock:order:1 a-1"}, "E"},
    {"ArgumentsMissing",
     {"EVAL $text 0", "SET lock:order:1 a-1", "EVAL $text 1 lock:order:1",
      "EVAL $text 1 lock:none"},
     ""},
    {"ScriptsFlushed",
     {"SET lock:order:1 a-1", "SCRIPT LOAD $text", "SCRIPT FLUSH",
      "EVALSHA $sha 1 lock:order:1 a-1", "run lock:order:1 a-1"},
     "1"},
};

// ---- Running the table ------------------------------------------------------------------------

struct FieldCase {
  const FieldScript* script;
  const State* state;
};

void PrintTo(const FieldCase& played, std::ostream* out) {
  *out << played.script->name << played.state->name;
}

std::vector<FieldCase> all_cases() {
  std::vector<FieldCase> cases;
  const auto add = [&](const FieldScript& script, const std::vector<State>& states) {
    for (const State& state : states) cases.push_back({&script, &state});
  };
  add(kBuildingKeys, kAdmissionStates);
  add(kPassingKeys, kAdmissionStates);
  add(kThreeLimits, kCouponStates);
  add(kLock, kLockStates);
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<FieldCase>& info) {
  return std::string(info.param.script->name) + info.param.state->name;
}

/// Compares a subject with a redis-server as the oracle.
template <class Subject>
class FieldScriptsTest : public ::testing::TestWithParam<FieldCase> {
 protected:
  static void SetUpTestSuite() {
    oracle_ = std::make_unique<RedisBackend>(RespVersion::k2, RedisTime::kManual);
    subject_ = std::make_unique<Subject>(RespVersion::k2);
  }
  static void TearDownTestSuite() {
    oracle_.reset();
    subject_.reset();
  }

  void play() {
    oracle_->reset();
    subject_->reset();
    for (const std::string& line : GetParam().state->lines) {
      SCOPED_TRACE(line);
      play(line);
    }
    EXPECT_EQ(results_, GetParam().state->results);
    EXPECT_EQ(dump_keyspace(*subject_), dump_keyspace(*oracle_));
  }

  static Subject& subject() { return *subject_; }

 private:
  void play(const std::string& line) {
    Words words = absl::StrSplit(line, ' ');
    const std::string verb = words[0];
    if (verb == "elapse") {
      std::int64_t ms = 0;
      ASSERT_TRUE(absl::SimpleAtoi(words[1], &ms));
      oracle_->elapse(std::chrono::milliseconds(ms));
      subject_->elapse(std::chrono::milliseconds(ms));
    } else if (verb == "run") {
      words.erase(words.begin());
      run(words);
    } else {
      Request request;
      for (const std::string& word : words) request.add(with_script(word));
      ask(request);
    }
  }

  static std::string with_script(const std::string& word) {
    const std::string text(GetParam().script->text);
    const std::string sha = sha1_hex(text);
    return absl::StrReplaceAll(
        word, {{"$text", text}, {"$sha", sha}, {"$SHA", absl::AsciiStrToUpper(sha)}});
  }

  /// Runs a script like a client.
  void run(const Words& words) {
    const auto [keys, arguments] = GetParam().script->arguments(words);
    const auto ask_with = [&, &its_keys = keys, &its_arguments = arguments](
                              std::string_view verb, const std::string& script) {
      Request request = Request::of(verb, script, its_keys.size());
      for (const std::string& key : its_keys) request.add(key);
      for (const std::string& argument : its_arguments) request.add(argument);
      return ask(request);
    };
    Reply reply = ask_with("EVALSHA", with_script("$sha"));
    if (reply.error_code() == "NOSCRIPT") reply = ask_with("EVAL", with_script("$text"));
    if (!results_.empty()) results_ += ' ';
    results_ += reply.is_integer() ? std::to_string(reply.integer()) : "E";
    EXPECT_TRUE(reply.is_integer() || reply.is_error()) << to_debug_string(reply);
  }

  /// Returns the reply of both, which must be equal.
  static Reply ask(const Request& request) {
    const std::string expected = oracle_->call_all(0, {&request, 1})[0];
    EXPECT_EQ(subject_->call_all(0, {&request, 1})[0], expected);
    return parse_raw_reply(expected)->reply;
  }

  static inline std::unique_ptr<RedisBackend> oracle_;
  static inline std::unique_ptr<Subject> subject_;
  std::string results_;
};

using FieldScriptsOnEngineTest = FieldScriptsTest<EmbeddedBackend>;
TEST_P(FieldScriptsOnEngineTest, ScriptsMatchRedis) { play(); }
INSTANTIATE_TEST_SUITE_P(States, FieldScriptsOnEngineTest, ::testing::ValuesIn(all_cases()),
                         name_of);

using FieldScriptsOnRocksDbTest = FieldScriptsTest<StoredBackend>;
TEST_P(FieldScriptsOnRocksDbTest, ScriptsMatchRedisAndPersist) {
  play();
  const std::string before = dump_keyspace(subject());
  subject().reopen();
  EXPECT_EQ(dump_keyspace(subject()), before);
}
INSTANTIATE_TEST_SUITE_P(States, FieldScriptsOnRocksDbTest, ::testing::ValuesIn(all_cases()),
                         name_of);

using FieldScriptsOnServeTest = FieldScriptsTest<ProgramBackend>;
TEST_P(FieldScriptsOnServeTest, ScriptsMatchRedis) { play(); }
INSTANTIATE_TEST_SUITE_P(States, FieldScriptsOnServeTest, ::testing::ValuesIn(all_cases()),
                         name_of);

}  // namespace
}  // namespace rushgate::testing
