// Results for callers when the store fails: the outcome is unknown, memory is rolled back, writes
// are refused, reads continue.
#include <latch>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyStore;

class StoreFailureTest : public ::testing::Test {
 protected:
  MemoryStore kept_{{.keep_state = true}};
  FaultyStore store_{kept_};
  ManualClock clock_;

  std::unique_ptr<Engine> open() {
    return open_engine({.manual_clock = &clock_}, {},
                       std::make_unique<FaultyStore>(static_cast<Store&>(store_)));
  }
};

TEST_F(StoreFailureTest, FailedCommitUndoesBatchWithUnknownOutcome) {
  const auto engine = open();
  const auto client = engine->open_client();
  (*client)("SET", "stock", 10);
  (*client)("SADD", "buyers", "1");
  store_.fail_commit(1, FaultyStore::Kept::kNo);
  const auto replies = client->pipeline(
      std::vector<Request>{Request::of("DECR", "stock"), Request::of("SADD", "buyers", "2"),
                           Request::of("SISMEMBER", "buyers", "1")});
  for (const Reply& reply : replies)
    EXPECT_TRUE(has_code(reply, error_code::kOutcomeUnknown)) << to_debug_string(reply);
  EXPECT_EQ((*client)("GET", "stock"), Reply::bulk("10"));
  EXPECT_EQ((*client)("SCARD", "buyers"), Reply::integer(1));
}

TEST_F(StoreFailureTest, FailedCommitRefusesWritesAndServesReads) {
  const auto engine = open();
  const auto client = engine->open_client();
  (*client)("SET", "k", "v", "PX", 100);
  store_.fail_commit(1, FaultyStore::Kept::kNo, absl::ResourceExhaustedError("disk full"));
  (*client)("SET", "other", "v");
  const Reply refused = (*client)("SET", "k", "w");
  EXPECT_TRUE(has_code(refused, "MISCONF")) << to_debug_string(refused);
  EXPECT_THAT(refused.text(), ::testing::HasSubstr("disk full"));
  EXPECT_EQ((*client)("GET", "k"), Reply::bulk("v"));
  EXPECT_TRUE(has_code((*client)("EVAL", "return redis.call('SET', 'a', 'b')", 0), "MISCONF"));
  EXPECT_EQ(engine->health().code(), absl::StatusCode::kResourceExhausted);
  engine->advance_ms(1'000);
  EXPECT_TRUE((*client)("GET", "k").is_nil())
      << "an expired key is hidden even while writes are refused";
}

TEST_F(StoreFailureTest, FailedSyncStopsWritesToo) {
  const auto engine = open();
  const auto client = engine->open_client();
  store_.fail_sync(1, FaultyStore::Kept::kNo);
  EXPECT_TRUE(client->sync().is_error());
  EXPECT_TRUE(has_code((*client)("SET", "k", "v"), "MISCONF"));
}

TEST_F(StoreFailureTest, BlockedReadGetsNoReplyFromFailedBatch) {
  const auto engine = open();
  const auto client = engine->open_client();
  std::optional<Reply> read;
  client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "0"),
                 [&](Reply reply) { read = std::move(reply); });
  store_.fail_commit(1, FaultyStore::Kept::kNo);
  (*client)("XADD", "s", "*", "f", "v");
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(has_code(*read, error_code::kOutcomeUnknown)) << to_debug_string(*read);
}

TEST_F(StoreFailureTest, FailedBatchRestoresElementOfBlockedPop) {
  const auto engine = open();
  const auto client = engine->open_client();
  std::optional<Reply> popped;
  client->submit(Request::of("BZPOPMIN", "z", 0), [&](Reply reply) { popped = std::move(reply); });
  (*client)("ZADD", "y", 1, "a", 2, "b");
  store_.fail_commit(1, FaultyStore::Kept::kNo);
  (*client)("EVAL", "redis.call('ZRANGESTORE', 'z', 'y', 0, -1) redis.call('DEL', 'y')", 0);
  ASSERT_TRUE(popped.has_value());
  EXPECT_TRUE(has_code(*popped, error_code::kOutcomeUnknown)) << to_debug_string(*popped);
  EXPECT_EQ((*client)("ZCARD", "z"), Reply::integer(0));
  EXPECT_EQ((*client)("ZCARD", "y"), Reply::integer(2));
}

TEST_F(StoreFailureTest, AnyFailedWriteLeavesWholeBatches) {
  // Each batch moves a unit from one key to another and appends to a stream: the sum stays the
  // same.
  for (int nth = 1; nth <= 20; ++nth) {
    for (const auto kept : {FaultyStore::Kept::kNo, FaultyStore::Kept::kYes}) {
      MemoryStore disk{{.keep_state = true}};
      FaultyStore store{disk};
      {
        const auto engine = open_engine({.manual_clock = &clock_}, {},
                                        std::make_unique<FaultyStore>(static_cast<Store&>(store)));
        const auto client = engine->open_client();
        store.fail_commit(nth, kept);
        for (int i = 0; i < 20; ++i) {
          client->pipeline(std::vector<Request>{
              Request::of("DECR", "from"), Request::of("INCR", "to"), Request::of("SADD", "set", i),
              Request::of("ZADD", "z", i, i), Request::of("XADD", "s", "*", "i", i)});
        }
      }
      const auto engine = open_engine({.manual_clock = &clock_}, {},
                                      std::make_unique<FaultyStore>(static_cast<Store&>(disk)));
      const auto client = engine->open_client();
      const std::int64_t groups = kept == FaultyStore::Kept::kYes ? nth : nth - 1;
      EXPECT_EQ((*client)("SCARD", "set"), Reply::integer(groups));
      EXPECT_EQ((*client)("ZCARD", "z"), Reply::integer(groups));
      EXPECT_EQ((*client)("XLEN", "s"), Reply::integer(groups));
      if (groups == 0) continue;
      EXPECT_EQ((*client)("GET", "from"), Reply::bulk(std::to_string(-groups)));
      EXPECT_EQ((*client)("GET", "to"), Reply::bulk(std::to_string(groups)));
    }
  }
}

TEST(StoreFailureThreadedTest, FailedBatchRepliesUnknownOutcomeToAll) {
  MemoryStore disk;
  FaultyStore store{disk};
  std::latch entered(1);
  std::latch released(1);
  const auto engine = open_engine({},
                                  {{"hold",
                                    [&](NativeCall& call) {
                                      entered.count_down();
                                      released.wait();
                                      call.increment_by("n", 1);
                                      return Reply::ok();
                                    }}},
                                  std::make_unique<FaultyStore>(static_cast<Store&>(store)));
  store.fail_commit(1, FaultyStore::Kept::kNo);
  const auto client = engine->open_client();
  std::thread holder([&] {
    EXPECT_TRUE(
        has_code((*engine->open_client())("FCALL", "hold", 0), error_code::kOutcomeUnknown));
  });
  entered.wait();
  std::latch replied(2);
  Reply read;
  Reply write;
  client->submit(Request::of("GET", "n"), [&](Reply reply) {
    read = std::move(reply);
    replied.count_down();
  });
  client->submit(Request::of("INCR", "n"), [&](Reply reply) {
    write = std::move(reply);
    replied.count_down();
  });
  released.count_down();
  replied.wait();
  holder.join();
  EXPECT_TRUE(has_code(read, error_code::kOutcomeUnknown)) << to_debug_string(read);
  EXPECT_TRUE(has_code(write, error_code::kOutcomeUnknown)) << to_debug_string(write);
}

}  // namespace
}  // namespace rushgate
