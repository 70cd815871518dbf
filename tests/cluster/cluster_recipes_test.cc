// Recipes of several keys and channels on a real cluster.
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/cluster_fixture.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/cache.h>
#include <rushgate/locks.h>
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::opened;
using testing::wait_until;

/// Two processes.
class ClusterRecipesTest : public ClusterTest {
 protected:
  /// Returns when somebody waits for messages of a shard channel.
  static void wait_for_subscriber(const std::string& channel) {
    wait_until([&] {
      const Reply number =
          ask(cluster().owner_of(channel), Request::of("PUBSUB", "SHARDNUMSUB", channel));
      return number.elements()[1].integer() == 1;
    });
  }

  const std::unique_ptr<RedisBackend> one_ = opened(options());
  const std::unique_ptr<RedisBackend> other_ = opened(options());
};

TEST_F(ClusterRecipesTest, ReleasedLockWakesWaiterByShardChannel) {
  LockManager one(*one_);
  LockManager other(*other_);
  ReentrantLock held(one, "shop");
  ReentrantLock wanted(other, "shop");
  ASSERT_TRUE(held.acquire().ok());
  auto waiter = std::async(std::launch::async, [&] { return *wanted.try_acquire(60'000); });
  wait_for_subscriber("redisson_lock__channel:{shop}");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(held.release().ok());
  EXPECT_TRUE(waiter.get());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4))
      << "by the message, before the waiter tries again by itself";
}

TEST_F(ClusterRecipesTest, LatchOpensByShardChannel) {
  LockManager one(*one_);
  LockManager other(*other_);
  CountDownLatch latch(one, "ready");
  CountDownLatch same(other, "ready");
  ASSERT_TRUE(*latch.try_set_count(1));
  auto waiter = std::async(std::launch::async, [&] { return *same.wait(60'000); });
  wait_for_subscriber("redisson_countdownlatch__channel__{ready}");
  ASSERT_TRUE(latch.count_down().ok());
  EXPECT_TRUE(waiter.get());
}

TEST_F(ClusterRecipesTest, CacheKeyNeedsTag) {
  const auto cache = *Cache::create(*one_, {});
  const auto load = [] { return absl::StatusOr<Cache::Value>("row"); };
  EXPECT_EQ(*cache->get_or_load("{shop}", load), "row");
  EXPECT_EQ(*cache->get_or_load("{shop}", load), "row");
  EXPECT_THAT(cache->get_or_load("shop", load).status().ToString(),
              HasSubstr("CROSSSLOT the keys \"cache:shop\""));
}

TEST_F(ClusterRecipesTest, ListQueueKeepsItsOrder) {
  const auto queue = *ListQueue::create(*one_, "orders", {.consumer = "c1"});
  for (const char* const body : {"a", "b"}) ASSERT_TRUE(queue->push(body).ok());
  const auto messages = *queue->take(10, 0);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].body, "a");
  EXPECT_EQ(*queue->done(messages), 2U);
}

}  // namespace
}  // namespace rushgate
