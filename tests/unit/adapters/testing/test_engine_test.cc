// The engine for users' tests, and its fixture.
#include <gmock/gmock.h>

#include "tests/support/temporary_directory.h"
#include <rushgate/reply.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/script.h>
#include <rushgate/test_engine.h>
#include <rushgate/testing.h>

namespace rushgate::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(EngineTest, EachTestHasOwnEngine) {
  EXPECT_THAT(call("SET", "stock:1", 10), IsOk());
  EXPECT_THAT(call("DECRBY", "stock:1", 3), IsInteger(7));
}

TEST_F(EngineTest, EngineHasNoDataOfEarlierTest) { EXPECT_THAT(call("DBSIZE"), IsInteger(0)); }

TEST_F(EngineTest, ScriptsRun) {
  EXPECT_THAT(eval("return {KEYS[1], ARGV[1]}", {"k"}, {"7"}),
              IsArray(ElementsAre(IsText("k"), IsText("7"))));
  EXPECT_THAT(eval("return redis.call('GET')"), IsErrorThat(HasSubstr("number of args")));
}

TEST_F(EngineTest, ClockMovesOnRequest) {
  call("SET", "coupon", "7", "PX", 5'000);
  advance_ms(4'999);
  EXPECT_THAT(call("PTTL", "coupon"), IsInteger(1));
  advance_ms(1);
  EXPECT_THAT(call("GET", "coupon"), IsNil());
  EXPECT_EQ(engine_.now_ms(), ManualClock::kStartMs + 5'000);
}

TEST_F(EngineTest, BlockedCommandIsServedOrTimesOut) {
  const PendingReply served = engine_.start("BLPOP", "orders", 0);
  EXPECT_FALSE(served.has_reply());
  call("RPUSH", "orders", "7");
  EXPECT_THAT(served.reply(), IsArray(ElementsAre(IsText("orders"), IsText("7"))));

  const PendingReply late = engine_.start("BLPOP", "orders", 2);
  EXPECT_THROW((void)late.reply(), std::bad_optional_access);
  advance_ms(2'000);
  EXPECT_THAT(late.reply(), IsNil());
  EXPECT_THAT(call("BLPOP", "orders", 0), IsNil()) << "no other client could serve it";
}

TEST_F(EngineTest, RestartKeepsDataAndDropsScripts) {
  call("SET", "k", "v", "PX", 100);
  call("XADD", "s", "1-1", "f", "v");
  const Reply sha1 = call("SCRIPT", "LOAD", "return 1");
  const auto other = engine_.engine().open_client();
  advance_ms(40);
  restart();
  EXPECT_THAT(call("PTTL", "k"), IsInteger(60));
  EXPECT_THAT(call("XLEN", "s"), IsInteger(1));
  EXPECT_THAT(call("EVALSHA", sha1.text(), 0), IsError("NOSCRIPT"));
  EXPECT_THAT((*other)("GET", "k"), IsError(error_code::kClosed));
}

TEST_F(EngineTest, FailedCommitMayTakeEffect) {
  for (const auto kept : {faults::FaultyStore::Kept::kNo, faults::FaultyStore::Kept::kYes}) {
    call("SET", "stock", 10);
    engine_.store().fail_commit(1, kept);
    EXPECT_THAT(call("DECR", "stock"), IsError(error_code::kOutcomeUnknown));
    EXPECT_THAT(call("DECR", "stock"), IsError("MISCONF"));
    restart();
    const bool was_kept = kept == faults::FaultyStore::Kept::kYes;
    EXPECT_THAT(call("DECR", "stock"), IsInteger(was_kept ? 8 : 9));
  }
}

TEST(TestEngineTest, DirectoryKeepsItsStore) {
  const TemporaryDirectory scratch;
  const TestEngineOptions options{.open_store = [&] { return RocksDbStore::open(scratch.path()); }};
  {
    TestEngine engine(options);
    engine.call("SET", "k", "v");
    engine.restart();
    EXPECT_THAT(engine.call("GET", "k"), IsText("v"));
    EXPECT_THROW(TestEngine{options}, std::runtime_error) << "another engine holds the directory";
  }
  TestEngine engine(options);
  EXPECT_THAT(engine.call("GET", "k"), IsText("v"));
}

TEST(TestEngineTest, SameSeedGivesSameOrder) {
  const auto drawn = [](std::uint64_t seed) {
    TestEngine engine({.engine = {.seed = seed}});
    for (int user = 0; user < 100; ++user) engine.call("SADD", "users", user);
    return engine.call("SPOP", "users", 20);
  };
  EXPECT_EQ(drawn(5), drawn(5));
  EXPECT_NE(drawn(5), drawn(6));
}

TEST(TestEngineTest, ClockStartsAtGivenTime) {
  TestEngine engine({.now_ms = 1'731'283'200'000});  // 2024-11-11
  EXPECT_THAT(engine.call("TIME"), IsArray(ElementsAre(IsText("1731283200"), IsText("0"))));
}

TEST(TestEngineTest, OptionsSetNativeScriptsAndResp3) {
  TestEngine engine({.client = {.protocol = 3},
                     .native_scripts = {{"seven", [](NativeCall&) { return Reply::integer(7); }}}});
  EXPECT_THAT(engine.call("FCALL", "seven", 0), IsInteger(7));
  EXPECT_EQ(engine.call("HGETALL", "none"), Reply::map());
}

TEST(TestEngineTest, FailedRestartIsReportedAgain) {
  bool opens = true;
  TestEngine engine({.open_store = [&]() -> absl::StatusOr<std::unique_ptr<Store>> {
    if (opens) return std::make_unique<MemoryStore>();
    return absl::UnavailableError("no disk");
  }});
  opens = false;
  EXPECT_THROW(engine.restart(), std::runtime_error);
  EXPECT_THROW(engine.call("PING"), std::runtime_error);
  EXPECT_THROW(engine.advance_ms(1), std::runtime_error);
  EXPECT_THROW(static_cast<void>(engine.store()), std::runtime_error);
  opens = true;
  engine.restart();
  EXPECT_THAT(engine.call("DBSIZE"), IsInteger(0));
}

TEST(TestEngineTest, MissingStoreIsReported) {
  EXPECT_THROW(TestEngine({.open_store = [] { return std::unique_ptr<Store>(); }}),
               std::runtime_error);
}

}  // namespace
}  // namespace rushgate::testing
