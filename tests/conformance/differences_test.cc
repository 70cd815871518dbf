// Differences in docs/differences.md that neither a transcript nor the test of a module shows.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/redis/commands/config_parameters.h"
#include "engine/redis/commands/settings.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

class DifferencesTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Engine> open(ManualClock& clock) {
    return *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock});
  }

  template <class... Args>
  Reply call(Args... args) {
    return client_->call(Request::of(args...));
  }
  template <class... Args>
  std::string shown(Args... args) {
    return to_debug_string(call(args...));
  }
  /// Returns the value of a field of INFO.
  std::string field(const char* section, const std::string& name) {
    const std::string info = call("INFO", section).text();
    const std::size_t at = info.find("\n" + name + ":");
    if (at == std::string::npos) return "(missing)";
    const std::size_t begin = at + name.size() + 2;
    return info.substr(begin, info.find('\r', begin) - begin);
  }
  /// Submits a blocking command and records its reply.
  template <class... Args>
  void wait_with(Client& client, std::optional<Reply>& answer, Args... args) {
    client.submit(Request::of(args...), [&answer](Reply reply) { answer = std::move(reply); });
    ASSERT_FALSE(answer.has_value());
  }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_ = open(clock_);
  std::unique_ptr<Client> client_ = engine_->open_client();
  std::unique_ptr<Client> other_ = engine_->open_client();
};

// ---- Values and their order ----

TEST_F(DifferencesTest, RadixTreesOfStreamsAreComputed) {
  for (int i = 1; i <= 250; ++i) call("XADD", "s", i, "f", "v");
  const Reply info = call("XINFO", "STREAM", "s");
  EXPECT_THAT(to_debug_string(info), HasSubstr(R"("radix-tree-keys", (integer) 3)"));
}

TEST_F(DifferencesTest, RangesByMemberOfDifferingScoresAreComputed) {
  call("ZADD", "z", 2, "a", 1, "b");
  EXPECT_EQ(call("ZRANGEBYLEX", "z", "-", "+").elements().size(), 2U);
  EXPECT_FALSE(call("ZRANGEBYLEX", "z", "[a", "[a").is_error());
}

TEST_F(DifferencesTest, StoringOverOtherTypeWakesSortedSetWaiter) {
  std::optional<Reply> answer;
  wait_with(*other_, answer, "BZPOPMIN", "z", 0);
  call("SET", "z", "text");
  EXPECT_FALSE(answer.has_value());
  call("ZADD", "from", 1, "m");
  call("ZUNIONSTORE", "z", 1, "from");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(to_debug_string(*answer), R"(["z", "m", "1"])");
}

TEST_F(DifferencesTest, OutOfRangeNumberHasNoLaterEffect) {
  call("RPUSH", "large", "1e400");
  call("RPUSH", "small", "1.5");
  EXPECT_TRUE(call("SORT", "large").is_error());
  EXPECT_EQ(shown("SORT", "small"), R"(["1.5"])");
}

TEST_F(DifferencesTest, EqualWeightsKeepOrderOfList) {
  for (int i = 0; i < 100; ++i) call("RPUSH", "l", i);
  EXPECT_EQ(shown("SORT", "l", "BY", "w_*", "ALPHA", "LIMIT", 0, 4), R"(["0", "1", "2", "3"])");
}

TEST_F(DifferencesTest, StoringOverOtherTypeWakesListWaiter) {
  std::optional<Reply> answer;
  wait_with(*other_, answer, "BLPOP", "d", 0);
  call("SET", "d", "text");
  EXPECT_FALSE(answer.has_value());
  call("RPUSH", "from", 1);
  call("SORT", "from", "STORE", "d");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(to_debug_string(*answer), R"(["d", "1"])");
}

TEST_F(DifferencesTest, SwapdbWithSeveralKeysServesOne) {
  call("SELECT", 1);
  call("RPUSH", "a", "of a");
  call("RPUSH", "b", "of b");
  std::optional<Reply> answer;
  wait_with(*other_, answer, "BLPOP", "b", "a", 0);
  call("SWAPDB", 0, 1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(to_debug_string(*answer), AnyOf(R"(["a", "of a"])", R"(["b", "of b"])"));
  EXPECT_EQ(to_debug_string(other_->call(Request::of("DBSIZE"))), "(integer) 1");
}

TEST_F(DifferencesTest, XautoclaimTakesAnyCount) {
  call("XGROUP", "CREATE", "s", "g", 0, "MKSTREAM");
  EXPECT_FALSE(call("XAUTOCLAIM", "s", "g", "c", 0, 0, "COUNT", "100000000000000000").is_error());
}

TEST_F(DifferencesTest, UnknownCursorEndsIteration) {
  call("SET", "k", "v");
  EXPECT_EQ(shown("SCAN", "18446744073709551615"), R"(["0", []])");
}

// ---- Settings and encodings ----

TEST_F(DifferencesTest, FixedParametersTakeNoOtherValue) {
  for (const ConfigParameter& parameter : config_parameters()) {
    if (parameter.use != ConfigParameter::Use::kFixed) continue;
    const Reply pair = call("CONFIG", "GET", parameter.name);
    ASSERT_EQ(pair.elements().size(), 2U) << parameter.name;
    EXPECT_EQ(call("CONFIG", "SET", parameter.name, pair.elements()[1].text()), Reply::ok())
        << parameter.name;
    EXPECT_THAT(call("CONFIG", "SET", parameter.name, "other").text(),
                StartsWith("ERR CONFIG SET failed"))
        << parameter.name;
  }
}

TEST_F(DifferencesTest, SettingsEndWithEngine) {
  call("CONFIG", "SET", "set-max-intset-entries", 7);
  EXPECT_EQ(shown("CONFIG", "GET", "set-max-intset-entries"), R"(["set-max-intset-entries", "7"])");
  ManualClock clock;
  const auto engine = open(clock);
  EXPECT_EQ(to_debug_string(engine->open_client()->call(
                Request::of("CONFIG", "GET", "set-max-intset-entries"))),
            R"(["set-max-intset-entries", "512"])");
}

// ---- COMMAND and INFO --------------

TEST_F(DifferencesTest, CommandsAreInOrderOfTable) {
  std::vector<std::string> names;
  const Reply list = call("COMMAND", "LIST");
  for (const Reply& name : list.elements()) {
    if (name.text().find('|') == std::string::npos) names.push_back(name.text());
  }
  std::vector<std::string> described;
  const Reply all = call("COMMAND");
  for (const Reply& row : all.elements()) described.push_back(row.elements()[0].text());
  EXPECT_EQ(names, described);

  call("SADD", "s", "m");
  call("GET", "k");
  const std::string statistics = call("INFO", "commandstats").text();
  const bool is_get_first =
      std::find(names.begin(), names.end(), "get") < std::find(names.begin(), names.end(), "sadd");
  EXPECT_EQ(statistics.find("cmdstat_get:") < statistics.find("cmdstat_sadd:"), is_get_first);
}

TEST_F(DifferencesTest, WritersThatReadCountNoHits) {
  call("SET", "k", "v");
  call("GETEX", "k");
  call("GETDEL", "k");
  EXPECT_EQ(field("stats", "keyspace_hits"), "0");
  call("GET", "k");
  EXPECT_EQ(field("stats", "keyspace_misses"), "1");
}

TEST_F(DifferencesTest, ProcessIsThatOfProgram) {
  EXPECT_EQ(field("server", "process_id"), std::to_string(getpid()));
}

TEST_F(DifferencesTest, OnlyFirst128ErrorCodesAreCounted) {
  for (int i = 0; i < 200; ++i) {
    call("EVAL", "return redis.error_reply(ARGV[1])", 0, "CODE" + std::to_string(i) + " text");
  }
  const std::string statistics = call("INFO", "errorstats").text();
  EXPECT_EQ(std::count(statistics.begin(), statistics.end(), ':'), 128);
  EXPECT_THAT(statistics, HasSubstr("errorstat_CODE127:count=1"));
}

// ---- Time ----

TEST_F(DifferencesTest, BatchRemoves128ExpiredKeys) {
  for (int i = 0; i < 300; ++i) call("SET", i, "v", "PX", 1);
  clock_.advance_ms(2);
  EXPECT_EQ(call("DBSIZE"), Reply::integer(300 - 128));
  EXPECT_EQ(call("EXISTS", 299), Reply::integer(0));
}

// ---- Scripts ----

TEST_F(DifferencesTest, NilIndexErrorPrecedesTableGuard) {
  EXPECT_THAT(call("EVAL", "redis[nil] = 1", 0).text(), HasSubstr("table index is nil"));
}

TEST_F(DifferencesTest, QuotesInShebangAreKept) {
  EXPECT_THAT(call("EVAL", "#!lua \"flags=no-writes\"\nreturn 1", 0).text(),
              StartsWith("ERR Unknown lua shebang option"));
}

TEST_F(DifferencesTest, FourThousandTablesArePacked) {
  EXPECT_EQ(call("EVAL",
                 "local tables = {} for i = 1, 4000 do tables[i] = {} end "
                 "return #cmsgpack.pack(unpack(tables))",
                 0),
            Reply::integer(4'000));
}

// ---- Users, replicas and clusters ----

TEST_F(DifferencesTest, ReplicationIsRefused) {
  EXPECT_EQ(call("REPLICAOF", "host", 6379).text(),
            "ERR Rushgate has no replication: it cannot be a replica");
  EXPECT_EQ(call("SLAVEOF", "host", 6379), call("REPLICAOF", "host", 6379));
  const std::string refusal = "ERR Rushgate has no replication: it cannot have replicas";
  EXPECT_EQ(call("SYNC").text(), refusal);
  EXPECT_EQ(call("PSYNC", "?", -1).text(), refusal);
  EXPECT_EQ(call("REPLCONF").text(), refusal);
  EXPECT_EQ(call("REPLCONF", "listening-port", 1).text(), refusal);
}

TEST_F(DifferencesTest, AclCatReturnsExistingCommands) {
  EXPECT_EQ(shown("ACL", "CAT", "transaction"),
            R"(["multi", "exec", "discard", "watch", "unwatch"])");
}

// ---- Clients ----

TEST_F(DifferencesTest, ListsShowNoFile) {
  EXPECT_THAT(call("CLIENT", "INFO").text(), HasSubstr(" fd=-1 "));
}

TEST_F(DifferencesTest, ListOfEmbeddedClientsHasNoBuffers) {
  EXPECT_THAT(call("CLIENT", "LIST").text(), HasSubstr(" qbuf=0 qbuf-free=0 "));
}

TEST_F(DifferencesTest, HelpNamesSupportedSubcommands) {
  std::vector<std::string> lines;
  const Reply help = call("CLIENT", "HELP");
  for (const Reply& line : help.elements()) lines.push_back(line.text());
  EXPECT_THAT(lines,
              IsSupersetOf({std::string("GETNAME"), std::string("ID"), std::string("INFO")}));
}

}  // namespace
}  // namespace rushgate
