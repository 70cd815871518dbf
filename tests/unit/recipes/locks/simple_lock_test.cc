#include <memory>
#include <mutex>

#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/locks.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

constexpr char kLockKey[] = "lock:shop";
const SimpleLockOptions kMinute{.lease_ms = 60'000};

class SimpleLockTest : public RecipeTest {
 protected:
  /// Removes the lock, as time would.
  void expire() {
    if (engine_ != nullptr) return advance_ms(60'000);
    (*client_)("DEL", kLockKey);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, SimpleLockTest, all_recipe_kinds(), recipe_name);

class SimpleLockInManualTimeTest : public SimpleLockTest {};
INSTANTIATE_TEST_SUITE_P(Backends, SimpleLockInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

TEST_P(SimpleLockTest, HoldersExcludeEachOther) {
  SimpleLock first(*backend_, "shop", kMinute);
  SimpleLock second(*backend_, "shop", kMinute);
  EXPECT_TRUE(*first.acquire());
  EXPECT_FALSE(*second.acquire());
  EXPECT_FALSE(*first.acquire()) << "not reentrant";
  EXPECT_GT((*client_)("PTTL", kLockKey).integer(), 50'000);
  EXPECT_TRUE(first.release().ok());
  EXPECT_EQ((*client_)("EXISTS", kLockKey), Reply::integer(0));
  EXPECT_TRUE(*second.acquire());
}

TEST_P(SimpleLockInManualTimeTest, LeaseExpires) {
  SimpleLock first(*backend_, "shop", kMinute);
  SimpleLock second(*backend_, "shop", kMinute);
  ASSERT_TRUE(*first.acquire());
  advance_ms(59'999);
  EXPECT_EQ(first.expires_in_ms(), 1);
  EXPECT_FALSE(*second.acquire());
  advance_ms(1);
  EXPECT_EQ(first.expires_in_ms(), 0);
  EXPECT_TRUE(*second.acquire());
}

/// The classic way sends SETNX, then EXPIRE. A crash comes between them.
TEST_P(SimpleLockInManualTimeTest, LockOfCrashedHolderExpires) {
  bool has_crashed = false;
  FaultyBackend lossy(
      *backend_, [&](const Request&) { return has_crashed ? Fault::kRequestLost : Fault::kNone; });
  auto crashed = std::make_unique<SimpleLock>(lossy, "shop", kMinute);
  ASSERT_TRUE(*crashed->acquire());
  ASSERT_EQ((*client_)("SETNX", "lock:naive", "thread-1"), Reply::integer(1));
  has_crashed = true;
  crashed.reset();
  SimpleLock next(*backend_, "shop", kMinute);
  EXPECT_FALSE(*next.acquire());
  advance_ms(60'000);
  EXPECT_TRUE(*next.acquire());
  advance_ms(86'400'000);
  EXPECT_EQ((*client_)("SETNX", "lock:naive", "thread-2"), Reply::integer(0)) << "the wrong way";
}

/// The classic way deletes the key without checking the owner.
TEST_P(SimpleLockTest, UnlockAfterExpirySparesNextHolder) {
  SimpleLock first(*backend_, "shop", kMinute);
  SimpleLock second(*backend_, "shop", kMinute);
  ASSERT_TRUE(*first.acquire());
  expire();
  ASSERT_TRUE(*second.acquire());
  EXPECT_TRUE(absl::IsFailedPrecondition(first.release()));
  EXPECT_FALSE(*first.acquire()) << "the second still holds it";

  (*client_)("DEL", kLockKey);  // the wrong way to unlock the first lock
  EXPECT_TRUE(*first.acquire()) << "two holders";
}

/// The classic way sends GET and DEL as two requests. The lease expires between them.
TEST_P(SimpleLockTest, CheckAndDeleteAreOneStep) {
  SimpleLock first(*backend_, "shop", kMinute);
  SimpleLock second(*backend_, "shop", kMinute);
  ASSERT_TRUE(*first.acquire());
  const std::string owner = (*client_)("GET", kLockKey).text();
  ASSERT_EQ((*client_)("GET", kLockKey).text(), owner) << "the check says that the first holds it";
  expire();
  ASSERT_TRUE(*second.acquire());
  EXPECT_TRUE(absl::IsFailedPrecondition(first.release()));
  EXPECT_EQ((*client_)("EXISTS", kLockKey), Reply::integer(1));
  EXPECT_EQ((*client_)("DEL", kLockKey), Reply::integer(1))
      << "the wrong way ends the second's lease";
}

/// The classic way uses the thread's name as the value. Other processes have the same names.
TEST_P(SimpleLockTest, HoldersHaveDifferentValues) {
  SimpleLock first(*backend_, "shop", kMinute);
  ASSERT_TRUE(*first.acquire());
  const std::string before = (*client_)("GET", kLockKey).text();
  ASSERT_TRUE(first.release().ok());
  ASSERT_TRUE(*first.acquire());
  EXPECT_NE((*client_)("GET", kLockKey).text(), before);
}

TEST_P(SimpleLockTest, LockOfOtherSystemIsRespected) {
  SimpleLock lock(*backend_, "shop", kMinute);
  (*client_)("SET", kLockKey, "thread-1", "NX", "EX", 10);
  EXPECT_FALSE(*lock.acquire());
  (*client_)("DEL", kLockKey);
  EXPECT_TRUE(*lock.acquire());
  EXPECT_TRUE((*client_)("SET", kLockKey, "thread-1", "NX", "EX", 10).is_nil());
}

TEST_P(SimpleLockTest, UniqueLockReleases) {
  SimpleLock lock(*backend_, "shop", kMinute);
  {
    const std::unique_lock held(lock, std::try_to_lock);
    EXPECT_TRUE(held.owns_lock());
    EXPECT_EQ((*client_)("EXISTS", kLockKey), Reply::integer(1));
  }
  EXPECT_EQ((*client_)("EXISTS", kLockKey), Reply::integer(0));
}

TEST_P(SimpleLockTest, DestructionReleases) {
  {
    SimpleLock lock(*backend_, "shop", kMinute);
    ASSERT_TRUE(*lock.acquire());
  }
  EXPECT_EQ((*client_)("EXISTS", kLockKey), Reply::integer(0));
}

TEST_P(SimpleLockTest, ErrorsAreReported) {
  SimpleLock lock(*backend_, "shop", {.lease_ms = 0});
  EXPECT_TRUE(absl::IsInvalidArgument(lock.acquire().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.release()));
}

}  // namespace
}  // namespace rushgate
