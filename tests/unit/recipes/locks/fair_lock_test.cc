#include <string>
#include <vector>

#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

constexpr char kQueue[] = "redisson_lock_queue:{shop}";
constexpr char kTimeouts[] = "redisson_lock_timeout:{shop}";

class FairLockTest : public RecipeTest {
 protected:
  /// Starts to wait. Returns when the owner is in the queue.
  PendingLock queue_up(const FairLock& lock, std::uint64_t owner,
                       std::int64_t wait_ms = ReentrantLock::kForever,
                       std::int64_t lease_ms = ReentrantLock::kWatchdog) {
    const std::int64_t queued = (*client_)("LLEN", kQueue).integer();
    PendingLock pending = begin(lock, owner, wait_ms, lease_ms);
    while ((*client_)("LLEN", kQueue).integer() <= queued) {
    }
    return pending;
  }

  /// Queues an owner like a process that died since.
  void queue_dead(std::int64_t dropped_after_ms) {
    (*client_)("RPUSH", kQueue, "dead:1");
    (*client_)("ZADD", kTimeouts, clock_.now_ms() + dropped_after_ms, "dead:1");
  }

  LockManager manager_{*backend_, {.client_id = "jvm-1"}};
  LockManager other_manager_{*backend_, {.client_id = "jvm-2"}};
  FairLock lock_{manager_, "shop"};
  FairLock other_{other_manager_, "shop"};
};
INSTANTIATE_TEST_SUITE_P(Backends, FairLockTest, all_recipe_kinds(), recipe_name);

class FairLockInManualTimeTest : public FairLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, FairLockInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

TEST_P(FairLockTest, WaitersAreServedInOrder) {
  constexpr std::uint64_t kWaiters = 6;
  ASSERT_TRUE(*begin(lock_, 100, 0).result());
  std::vector<PendingLock> waiters;
  for (std::uint64_t i = 0; i < kWaiters; ++i) {
    waiters.push_back(queue_up(i % 2 == 0 ? other_ : lock_, i));
  }
  ASSERT_TRUE(lock_.release_of(100).ok());
  for (std::uint64_t i = 0; i < kWaiters; ++i) {
    ASSERT_TRUE(*waiters[i].result());
    for (std::uint64_t later = i + 1; later < kWaiters; ++later) {
      EXPECT_FALSE(waiters[later].is_done());
    }
    EXPECT_TRUE((i % 2 == 0 ? other_ : lock_).release_of(i).ok());
  }
  EXPECT_EQ((*client_)("EXISTS", "shop", kQueue, kTimeouts), Reply::integer(0));
}

/// The classic way serves the first request after a release: that of the former owner.
TEST_P(FairLockTest, FormerOwnerCannotOvertakeWaiters) {
  ASSERT_TRUE(*begin(lock_, 100, 0).result());
  (*client_)("SET", "naive", "busy");
  const PendingLock waiter = queue_up(other_, 7);
  ASSERT_TRUE(lock_.release_of(100).ok());
  EXPECT_FALSE(*begin(lock_, 100, 0).result());
  EXPECT_TRUE(*waiter.result());
  (*client_)("DEL", "naive");
  EXPECT_EQ((*client_)("SET", "naive", "busy", "NX"), Reply::ok()) << "the wrong way";
}

TEST_P(FairLockTest, KeysAreRedissons) {
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  const PendingLock waiter = queue_up(other_, 7);
  EXPECT_EQ((*client_)("HGETALL", "shop"),
            Reply::array({Reply::bulk("jvm-1:1"), Reply::bulk("1")}));
  EXPECT_EQ((*client_)("LRANGE", kQueue, 0, -1), Reply::array({Reply::bulk("jvm-2:7")}));
  const std::int64_t dropped_at_ms = std::stoll((*client_)("ZSCORE", kTimeouts, "jvm-2:7").text());
  EXPECT_GE(dropped_at_ms, clock_.now_ms() + 300'000);
  EXPECT_LE(dropped_at_ms, clock_.now_ms() + 330'000);
  while ((*client_)("PUBSUB", "NUMSUB", "redisson_lock__channel:{shop}:jvm-2:7").elements()[1] !=
         Reply::integer(1)) {
  }
  ASSERT_TRUE(lock_.release_of(1).ok());
  EXPECT_TRUE(*waiter.result());
}

TEST_P(FairLockTest, OwnerIsReentrantWhileOthersWait) {
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  const PendingLock waiter = queue_up(other_, 7);
  EXPECT_TRUE(*begin(lock_, 1, 0).result());
  EXPECT_TRUE(lock_.release_of(1).ok());
  EXPECT_FALSE(waiter.is_done());
  EXPECT_TRUE(lock_.release_of(1).ok());
  EXPECT_TRUE(*waiter.result());
}

/// Queues a waiter like RFairLock.
TEST_P(FairLockTest, WaiterOfJvmIsServedFirst) {
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  (*client_)("RPUSH", kQueue, "jvm-9:1");
  (*client_)("ZADD", kTimeouts, clock_.now_ms() + 300'000, "jvm-9:1");
  std::promise<Reply> message;
  const auto jvm = backend_->open_client(
      {.on_message = [&](Reply sent) { message.set_value(std::move(sent)); }});
  (*jvm)("SUBSCRIBE", "redisson_lock__channel:{shop}:jvm-9:1");
  const PendingLock waiter = queue_up(other_, 7);
  ASSERT_TRUE(lock_.release_of(1).ok());
  EXPECT_EQ(message.get_future().get().elements()[2], Reply::bulk("0"));
  EXPECT_FALSE(*begin(lock_, 1, 0).result()) << "the lock is free, but others wait";
  EXPECT_FALSE(waiter.is_done());
  // The requests that RFairLock sends now.
  (*client_)("LPOP", kQueue);
  (*client_)("ZREM", kTimeouts, "jvm-9:1");
  (*client_)("HSET", "shop", "jvm-9:1", 1);
  (*client_)("DEL", "shop");
  (*client_)("PUBLISH", "redisson_lock__channel:{shop}:jvm-2:7", "0");
  EXPECT_TRUE(*waiter.result());
}

/// The classic way keeps a list of waiters without expiry.
TEST_P(FairLockInManualTimeTest, DeadWaiterIsDropped) {
  (*client_)("RPUSH", "naive", "dead", "alive");
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  auto crashed = std::make_unique<LockManager>(*backend_);
  const PendingLock dead = queue_up(FairLock(*crashed, "shop"), 5, 20'000);
  const PendingLock waiter = queue_up(other_, 7);
  crashed.reset();
  ASSERT_TRUE(lock_.release_of(1).ok());
  EXPECT_FALSE(waiter.is_done()) << "the dead one is first";
  advance_ms(150'000);
  EXPECT_TRUE(*waiter.result());
  EXPECT_EQ((*client_)("LINDEX", "naive", 0), Reply::bulk("dead")) << "the wrong way";
}

/// The waiter behind it would otherwise sleep until the former holder's lease ends.
TEST_P(FairLockInManualTimeTest, LockIsTakenWhenDeadWaitersPlaceEnds) {
  ASSERT_TRUE(*begin(lock_, 1, 0, 60'000).result());
  queue_dead(3'000);
  const PendingLock waiter = queue_up(other_, 7);
  advance_ms(300);
  ASSERT_TRUE(lock_.release_of(1).ok());
  advance_ms(2'699);
  EXPECT_FALSE(waiter.is_done());
  advance_ms(1);
  EXPECT_TRUE(waiter.is_done());
}

TEST_P(FairLockInManualTimeTest, DeadWaiterBetweenLivingOnesIsDropped) {
  constexpr std::int64_t kPlaceMs = 300'000;  // others end earlier by this when an owner enters
  ASSERT_TRUE(*begin(lock_, 1, 0, 600'000).result());
  const PendingLock first = queue_up(lock_, 2);
  queue_dead(kPlaceMs + 3'000);
  const PendingLock last = queue_up(other_, 7);
  ASSERT_TRUE(lock_.release_of(1).ok());
  ASSERT_TRUE(*first.result());
  ASSERT_TRUE(lock_.release_of(2).ok());
  advance_ms(2'999);
  EXPECT_FALSE(last.is_done());
  advance_ms(1);
  EXPECT_TRUE(last.is_done());
}

TEST_P(FairLockInManualTimeTest, WaiterLearnsLeaseOfNextHolder) {
  ASSERT_TRUE(*begin(lock_, 1, 0, 600'000).result());
  const PendingLock brief = queue_up(lock_, 2, ReentrantLock::kForever, 5'000);
  const PendingLock waiter = queue_up(other_, 7);
  ASSERT_TRUE(lock_.release_of(1).ok());
  ASSERT_TRUE(*brief.result());
  advance_ms(5'000);
  EXPECT_TRUE(waiter.is_done()) << "the holder has died";
}

TEST_P(FairLockInManualTimeTest, CancelledWaiterLeavesQueue) {
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  const PendingLock impatient = queue_up(other_, 5, 2'000);
  const PendingLock waiter = queue_up(other_, 7);
  advance_ms(2'000);
  EXPECT_FALSE(*impatient.result());
  EXPECT_EQ((*client_)("LRANGE", kQueue, 0, -1), Reply::array({Reply::bulk("jvm-2:7")}));
  ASSERT_TRUE(lock_.release_of(1).ok());
  EXPECT_TRUE(*waiter.result());
}

/// RFairLock drops its own live waiters after 300 s.
TEST_P(FairLockInManualTimeTest, LiveWaiterKeepsPlace) {
  ASSERT_TRUE(*begin(lock_, 1, 0).result());
  const PendingLock first = queue_up(other_, 7);
  const PendingLock second = queue_up(other_, 8);
  advance_ms(2'000'000);
  EXPECT_EQ((*client_)("LRANGE", kQueue, 0, -1),
            Reply::array({Reply::bulk("jvm-2:7"), Reply::bulk("jvm-2:8")}));
  ASSERT_TRUE(lock_.release_of(1).ok());
  EXPECT_TRUE(*first.result());
  EXPECT_FALSE(second.is_done());
}

TEST_P(FairLockInManualTimeTest, ExpiredLeaseServesFirstWaiter) {
  ASSERT_TRUE(*begin(lock_, 1, 0, 5'000).result());
  const PendingLock first = queue_up(other_, 7);
  const PendingLock second = queue_up(other_, 8);
  advance_ms(5'000);
  EXPECT_TRUE(*first.result());
  EXPECT_FALSE(second.is_done());
}

}  // namespace
}  // namespace rushgate
