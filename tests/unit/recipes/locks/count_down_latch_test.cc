#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

constexpr char kLatchChannel[] = "redisson_countdownlatch__channel__{ready}";

class CountDownLatchTest : public RecipeTest {
 protected:
  PendingLock begin_wait(std::int64_t wait_ms = CountDownLatch::kForever) {
    PendingLock pending;
    latch_.wait_async(wait_ms, pending.callback());
    return pending;
  }

  LockManager manager_{*backend_};
  LockManager other_manager_{*backend_};
  CountDownLatch latch_{manager_, "ready"};
  CountDownLatch other_{other_manager_, "ready"};
};
INSTANTIATE_TEST_SUITE_P(Backends, CountDownLatchTest, all_recipe_kinds(), recipe_name);

class CountDownLatchInManualTimeTest : public CountDownLatchTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CountDownLatchInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

TEST_P(CountDownLatchTest, OpensWhenCountIsZero) {
  EXPECT_TRUE(*latch_.wait(0)) << "without a count";
  EXPECT_TRUE(*latch_.try_set_count(2));
  EXPECT_FALSE(*other_.try_set_count(5)) << "there is one";
  EXPECT_EQ((*client_)("GET", "ready"), Reply::bulk("2"));
  EXPECT_FALSE(*other_.wait(0));
  ASSERT_TRUE(other_.count_down().ok());
  EXPECT_EQ(*latch_.count(), 1);
  ASSERT_TRUE(other_.count_down().ok());
  EXPECT_EQ(*latch_.count(), 0);
  EXPECT_TRUE(*latch_.wait(0));
  EXPECT_EQ((*client_)("EXISTS", "ready"), Reply::integer(0));
  ASSERT_TRUE(latch_.count_down().ok());
  EXPECT_TRUE(*latch_.try_set_count(1)) << "a latch can be set again";
}

TEST_P(CountDownLatchTest, OneMessageWakesAllWaiters) {
  ASSERT_TRUE(*latch_.try_set_count(1));
  std::vector<PendingLock> waiters;
  for (int i = 0; i < 4; ++i) waiters.push_back(begin_wait());
  while ((*client_)("PUBSUB", "NUMSUB", kLatchChannel).elements()[1] != Reply::integer(1)) {
  }
  for (const PendingLock& waiter : waiters) EXPECT_FALSE(waiter.is_done());
  ASSERT_TRUE(other_.count_down().ok());
  for (const PendingLock& waiter : waiters) EXPECT_TRUE(*waiter.result());
}

TEST_P(CountDownLatchTest, WaitEndsAtItsDeadline) {
  ASSERT_TRUE(*latch_.try_set_count(1));
  const PendingLock waiter = begin_wait(20);
  if (engine_ != nullptr) advance_ms(20);
  EXPECT_FALSE(*waiter.result());
}

/// The classic way reads the count, subscribes, and waits for a message that was sent before.
TEST_P(CountDownLatchInManualTimeTest, CountDownBeforeSubscriptionIsSeen) {
  bool counts_down = true;
  HookedBackend hooked(*backend_, {.before = [&](const Request& request) {
    if (request[0] != "SUBSCRIBE" || !std::exchange(counts_down, false)) return;
    EXPECT_TRUE(other_.count_down().ok());
  }});
  LockManager manager(hooked);
  CountDownLatch latch(manager, "ready");
  ASSERT_TRUE(*latch.try_set_count(1));
  PendingLock waiter;
  latch.wait_async(CountDownLatch::kForever, waiter.callback());
  EXPECT_TRUE(*waiter.result());
  EXPECT_FALSE(counts_down);

  int messages = 0;
  const auto naive = backend_->open_client({.on_message = [&](const Reply&) { ++messages; }});
  ASSERT_TRUE(*other_.try_set_count(1));
  ASSERT_EQ(*other_.count(), 1) << "the look";
  ASSERT_TRUE(other_.count_down().ok());
  (*naive)("SUBSCRIBE", kLatchChannel);
  advance_ms(600'000);
  EXPECT_EQ(messages, 0) << "the wrong way";
}

TEST_P(CountDownLatchTest, ErrorsAreReported) {
  EXPECT_TRUE(absl::IsInvalidArgument(latch_.try_set_count(0).status()));
  (*client_)("SET", "ready", "text");
  EXPECT_FALSE(latch_.count().ok());
  EXPECT_FALSE(latch_.count_down().ok());
  EXPECT_FALSE(latch_.wait(0).ok());
}

TEST(CountDownLatchThreadsTest, MainWaitsForWorkers) {
  constexpr int kWorkers = 4;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  CountDownLatch latch(manager, "ready");
  ASSERT_TRUE(*latch.try_set_count(kWorkers));
  std::atomic<int> done = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&] {
      ++done;
      EXPECT_TRUE(latch.count_down().ok());
    });
  }
  EXPECT_TRUE(*latch.wait(CountDownLatch::kForever));
  EXPECT_EQ(done, kWorkers);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace rushgate
