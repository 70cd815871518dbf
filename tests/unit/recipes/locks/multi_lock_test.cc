#include <mutex>
#include <thread>

#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>

namespace rushgate {
namespace {

/// The second lock is on its own backend.
class MultiLockTest : public RecipeTest {
 protected:
  std::vector<ReentrantLock> locks(LockManager& here, LockManager& there) {
    return {ReentrantLock(here, "a"), ReentrantLock(there, "b")};
  }

  std::unique_ptr<Engine> elsewhere_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  LockManager here_{*backend_};
  LockManager there_{*elsewhere_};
  LockManager other_here_{*backend_};
  LockManager other_there_{*elsewhere_};
  MultiLock lock_{locks(here_, there_)};
  MultiLock other_{locks(other_here_, other_there_)};
};
INSTANTIATE_TEST_SUITE_P(Backends, MultiLockTest, all_recipe_kinds(), recipe_name);

class MultiLockInManualTimeTest : public MultiLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, MultiLockInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

TEST_P(MultiLockTest, AllLocksAreHeldOrNone) {
  ReentrantLock second(other_there_, "b");
  ASSERT_TRUE(*second.try_acquire(0));
  EXPECT_FALSE(*lock_.try_acquire(0));
  EXPECT_EQ((*client_)("EXISTS", "a"), Reply::integer(0)) << "the first is released";
  ASSERT_TRUE(second.release().ok());
  EXPECT_TRUE(*lock_.try_acquire(0));
  EXPECT_TRUE(lock_.is_held());
  EXPECT_FALSE(*other_.try_acquire(0));
  EXPECT_TRUE(lock_.release().ok());
  EXPECT_FALSE(lock_.is_held());
  EXPECT_TRUE(*other_.try_acquire(0));
}

TEST_P(MultiLockTest, MultiLockIsReentrant) {
  ASSERT_TRUE(*lock_.try_acquire(0));
  ASSERT_TRUE(*lock_.try_acquire(0));
  EXPECT_TRUE(lock_.release().ok());
  EXPECT_FALSE(*other_.try_acquire(0));
  EXPECT_TRUE(lock_.release().ok());
  EXPECT_TRUE(*other_.try_acquire(0));
}

TEST_P(MultiLockTest, FailedBackendLeavesNoneHeld) {
  elsewhere_->close();
  EXPECT_TRUE(absl::IsUnavailable(lock_.try_acquire(0).status()));
  EXPECT_EQ((*client_)("EXISTS", "a"), Reply::integer(0));
}

TEST_P(MultiLockInManualTimeTest, LeasesBeginTogether) {
  ASSERT_TRUE(*lock_.try_acquire(0, 5'000));
  const auto there = elsewhere_->open_client();
  EXPECT_EQ((*client_)("PTTL", "a"), Reply::integer(5'000));
  EXPECT_EQ((*there)("PTTL", "b"), Reply::integer(5'000));
  advance_ms(5'000);
  EXPECT_FALSE(lock_.is_held());
}

TEST_P(MultiLockTest, ReleaseReleasesAllAndReportsLosses) {
  ASSERT_TRUE(*lock_.try_acquire(0));
  (*client_)("DEL", "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(lock_.release()));
  EXPECT_EQ((*elsewhere_->open_client())("EXISTS", "b"), Reply::integer(0));
}

/// The classic way takes one lock after the other, and waits for each without a deadline.
TEST(MultiLockThreadsTest, CrossingOrdersNeverDeadlock) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  LockManager manager(*engine);
  ReentrantLock a(manager, "a");
  ReentrantLock b(manager, "b");
  ASSERT_TRUE(*begin(a, 1, 0).result() && *begin(b, 2, 0).result());
  const PendingLock first = begin(b, 1);
  const PendingLock second = begin(a, 2);
  EXPECT_FALSE(*begin(b, 1, 0).result() || *begin(a, 2, 0).result()) << "the wrong way";
  ASSERT_TRUE(a.release_of(1).ok());
  ASSERT_TRUE(*second.result() && a.release_of(2).ok() && b.release_of(2).ok());
  ASSERT_TRUE(*first.result() && b.release_of(1).ok());

  MultiLock forth({ReentrantLock(manager, "a"), ReentrantLock(manager, "b")});
  MultiLock back({ReentrantLock(manager, "b"), ReentrantLock(manager, "a")});
  int counter = 0;
  const auto count = [&counter](MultiLock& lock) {
    for (int i = 0; i < 20; ++i) {
      const std::lock_guard held(lock);
      ++counter;
    }
  };
  std::thread other([&] { count(back); });
  count(forth);
  other.join();
  EXPECT_EQ(counter, 40);
}

}  // namespace
}  // namespace rushgate
