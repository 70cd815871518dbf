// `rushgate strategies`: each unsafe strategy shows its known faults, and each safe one shows none.
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "apps/strategies/strategies.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::set<std::string>;

const std::vector<std::string> kFaults = {"oversold", "doubled",     "turned_away",
                                          "lost",     "left_behind", "unsold"};

/// The known faults of each strategy.
const std::map<std::string, Names> kKnownFaults = {
    {"a", {"oversold", "doubled"}},
    {"b", {"turned_away"}},
    {"c", {"doubled"}},
    {"d", {}},
    {"e", {"doubled"}},
    {"f", {"oversold"}},
    {"g", {"oversold"}},
    {"h", {}},
    {"i", {"oversold", "doubled", "left_behind"}},
    {"j", {"lost", "left_behind"}},
    {"k1", {"lost", "left_behind"}},
    {"k2", {}},
    {"l", {"lost", "left_behind"}},
    {"m", {"lost", "left_behind"}},
    {"n", {}},
    {"o", {}},
    {"p", {"turned_away", "unsold"}},
    {"q", {}},
};

/// Returns the command for a short rush.
std::vector<std::string> strategies_of_small_rush(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"strategies", "--users",   "60", "--stock",
                                        "20",         "--threads", "4",  "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Names faults_of(const nlohmann::ordered_json& strategy) {
  Names names;
  for (const std::string& fault : kFaults) {
    if (strategy[fault] > 0) names.insert(fault);
  }
  return names;
}

/// Returns true if chance decides. In (a), a kill leaves stock without an order, unless lost
/// updates hide it. In (f) and (g), the two clicks that hold the lock may be of one user.
bool may_have(const std::string& letter, const std::string& fault) {
  return (letter == "a" && fault == "left_behind") ||
         ((letter == "f" || letter == "g") && fault == "doubled");
}

void expect_known_faults(const nlohmann::ordered_json& strategy) {
  const std::string letter = strategy["letter"];
  SCOPED_TRACE(strategy.dump(2));
  ASSERT_TRUE(kKnownFaults.contains(letter));
  Names found = faults_of(strategy);
  for (const std::string& fault : kFaults) {
    if (may_have(letter, fault)) found.erase(fault);
  }
  EXPECT_EQ(found, kKnownFaults.at(letter));
  Names harmful = kKnownFaults.at(letter);
  harmful.erase("turned_away");
  EXPECT_EQ(strategy["safe"], harmful.empty());
}

void expect_rushes(const nlohmann::ordered_json& strategy) {
  SCOPED_TRACE(strategy.dump(2));
  const auto& rushes = strategy["rushes"];
  ASSERT_EQ(rushes.size(), 2 + strategy["forced"].size());
  EXPECT_EQ(rushes.front()["schedule"], "free");
  EXPECT_EQ(rushes.back()["killed"], true);
  for (const auto& rush : rushes) {
    EXPECT_GE(rush["accepted"], rush["killed"] || rush["unsold"] > 0 ? 10 : 20);
  }
}

/// Returns the faults of each rush, by schedule.
std::map<std::string, Names> faults_by_schedule(const nlohmann::ordered_json& strategy) {
  std::map<std::string, Names> faults;
  for (const auto& rush : strategy["rushes"]) {
    faults[rush["killed"] ? "killed" : std::string(rush["schedule"])] = faults_of(rush);
  }
  return faults;
}

/// Runs the strategies with these letters.
std::vector<nlohmann::ordered_json> run_strategies(const std::string& letters) {
  const ProgramResult result = run_program(strategies_of_small_rush({"--only", letters}));
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  return result.json()["strategies"];
}

class StrategyProgramTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StrategyProgramTest, ShowsExactlyKnownFaults) {
  const auto strategies = run_strategies(GetParam());
  ASSERT_EQ(strategies.size(), 1U);
  expect_known_faults(strategies[0]);
  expect_rushes(strategies[0]);
}

std::vector<std::string> known_letters() {
  std::vector<std::string> letters;
  for (const auto& [letter, faults] : kKnownFaults) letters.push_back(letter);
  return letters;
}

INSTANTIATE_TEST_SUITE_P(All, StrategyProgramTest, ::testing::ValuesIn(known_letters()),
                         [](const auto& letter) { return letter.param; });

TEST(StrategiesProgramTest, LateReleaseHarmsOnlyLockWithoutOwner) {
  const auto strategies = run_strategies("f,g");
  EXPECT_TRUE(faults_by_schedule(strategies[0])["release-late"].contains("oversold"));
  EXPECT_EQ(faults_by_schedule(strategies[1])["release-late"], Names{});
  EXPECT_TRUE(faults_by_schedule(strategies[1])["hold-long"].contains("oversold"));
}

TEST(StrategiesProgramTest, MutexFailsOnlyInTwoProcesses) {
  auto faults = faults_by_schedule(run_strategies("e")[0]);
  EXPECT_EQ(faults["clicks-meet"], Names{});
  EXPECT_EQ(faults["two-processes"], Names{"doubled"});
}

TEST(StrategiesProgramTest, KillLosesOnlyPoppedOrder) {
  const auto strategies = run_strategies("k");
  ASSERT_EQ(strategies.size(), 2U);
  EXPECT_EQ(strategies[0]["rushes"].back()["lost"], 1);
  EXPECT_EQ(faults_by_schedule(strategies[0])["worker-restarts"], Names{});
}

TEST(StrategiesProgramTest, ChannelLosesOrdersOfAbsentWorker) {
  const auto strategies = run_strategies("l,n");
  EXPECT_GE(strategies[0]["rushes"][1]["lost"], 5);  // a quarter of the stock
  EXPECT_EQ(faults_by_schedule(strategies[1])["worker-restarts"], Names{});
}

TEST(StrategiesProgramTest, StreamFromNowSkipsEarlierOrders) {
  const auto strategies = run_strategies("m,n");
  auto from_now = faults_by_schedule(strategies[0]);
  EXPECT_EQ(from_now["worker-late"], (Names{"lost", "left_behind"}));
  EXPECT_EQ(from_now["worker-restarts"], Names{});
  EXPECT_EQ(from_now["killed"], Names{});
  EXPECT_EQ(faults_by_schedule(strategies[1])["worker-late"], Names{});
}

TEST(StrategiesProgramTest, ShardKeepsItsPartFromUsersOfOthers) {
  const auto strategies = run_strategies("p,q");
  for (const auto& rush : strategies[0]["rushes"]) {
    const bool is_forced = rush["schedule"] == "few-shards";
    EXPECT_EQ(rush["unsold"], is_forced ? 10 : 0) << "half of the stock";
    EXPECT_GE(rush["accepted"], 10);
    if (is_forced) {
      EXPECT_EQ(rush["accepted"], 10);
    }
  }
  EXPECT_EQ(faults_by_schedule(strategies[1])["few-shards"], Names{});
  EXPECT_EQ(strategies[1]["rushes"][1]["accepted"], 20);
}

TEST(StrategiesProgramTest, EveryStrategyIsTested) {
  std::vector<std::string> letters;
  for (const auto& kind : strategies::all_strategies()) letters.emplace_back(kind.letter);
  EXPECT_THAT(letters, ::testing::ElementsAreArray(known_letters()));
}

TEST(StrategiesProgramTest, KilledWorkerStoresEachOrderOnce) {
  for (const char* const seed : {"1", "2", "3"}) {
    const ProgramResult result =
        run_program(strategies_of_small_rush({"--only", "k2,n,o,q", "--seed", seed}));
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
    const auto comparison = result.json();
    for (const auto& strategy : comparison["strategies"]) {
      const auto& killed = strategy["rushes"].back();
      EXPECT_EQ(killed["killed"], true);
      EXPECT_EQ(faults_of(killed), Names{}) << killed.dump(2);
    }
  }
}

TEST(StrategiesProgramTest, TableHasRowPerChosenStrategy) {
  const ProgramResult result = run_program(
      {"strategies", "--users", "20", "--stock", "10", "--threads", "2", "--only", "c,a"});
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, HasSubstr("20 users click twice each for a stock of 10; 2 threads\n"));
  EXPECT_THAT(result.out, HasSubstr("\na  read, then write  "));
  EXPECT_THAT(result.out, HasSubstr("\nc  optimistic lock, stock > 0  "));
  EXPECT_THAT(result.out, HasSubstr("\n  a, c: the first click of a user pauses"));
}

TEST(StrategiesProgramTest, ChartsOfChosenStrategyAreWritten) {
  const TemporaryDirectory directory;
  const std::filesystem::path charts = directory.path() / "charts";
  const ProgramResult result =
      run_program(strategies_of_small_rush({"--only", "c", "--charts", charts}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(charts)) {
    names.insert(file.path().filename());
  }
  EXPECT_EQ(names, (Names{"faults.svg", "rates.svg"}));
}

TEST(StrategiesProgramTest, UnknownLetterIsRefused) {
  const ProgramResult result = run_program({"strategies", "--only", "a,z"});
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("there is no strategy z"));
}

TEST(StrategiesProgramTest, InterruptLeavesNoFiles) {
  const TemporaryDirectory directory;
  Program program({"strategies", "--users", "100000", "--stock", "100000", "--only", "a", "--dir",
                   directory.path().string()});
  ASSERT_TRUE(program.wait_for_error_text("a: read, then write"));
  program.send(SIGINT);
  EXPECT_EQ(program.wait().exit_code, kExitSignal + SIGINT);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(StrategiesRedisProgramTest, ComparisonLeavesNoKeysOnRedis) {
  const testing::RedisServer server;
  testing::RawConnection connection(server.socket_path());
  connection.call(Request::of("SET", "theirs", 1));
  const ProgramResult result = run_program(
      strategies_of_small_rush({"--only", "h,i,j,k,l,m,n,o,p,q", "--redis", server.url()}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const auto comparison = result.json();
  for (const auto& strategy : comparison["strategies"]) {
    expect_known_faults(strategy);
    expect_rushes(strategy);
  }
  const Reply keys = connection.call(Request::of("KEYS", "*"));
  EXPECT_EQ(keys, Reply::array({Reply::bulk("theirs")})) << to_debug_string(keys);
}

TEST(StrategiesRedisProgramTest, ErrorOfSellingProcessIsTold) {
  const testing::RedisServer server({.arguments = {"--maxmemory", "1"}});
  for (const char* const letter : {"h", "o"}) {
    const ProgramResult result =
        run_program(strategies_of_small_rush({"--only", letter, "--redis", server.url()}));
    EXPECT_EQ(result.exit_code, kExitFailure);
    EXPECT_THAT(result.err, HasSubstr(std::string("strategy ") + letter + ": "));
    EXPECT_THAT(result.err, HasSubstr("OOM"));
  }
}

TEST(StrategiesRedisProgramTest, MissingServerIsFailure) {
  testing::RedisServer server;
  server.kill();
  const ProgramResult result = run_program(strategies_of_small_rush({"--redis", server.url()}));
  EXPECT_EQ(result.exit_code, kExitFailure);
  EXPECT_THAT(result.out, IsEmpty());
}

}  // namespace
}  // namespace rushgate
