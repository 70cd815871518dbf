#include "engine/redis/executor/store_guard.h"

#include <memory>

#include <gtest/gtest.h>

#include "tests/unit/executor/executor_parts.h"

namespace rushgate {
namespace {

TEST(StoreGuardTest, FirstFailureStays) {
  const ManualClock clock;
  StoreGuard guard(std::make_unique<TestStore>(), clock, true);
  EXPECT_FALSE(guard.has_failed());
  guard.fail(absl::ResourceExhaustedError("disk full"));
  guard.fail(absl::InternalError("later"));
  EXPECT_TRUE(guard.has_failed());
  EXPECT_EQ(guard.health().code(), absl::StatusCode::kResourceExhausted);
}

TEST(StoreGuardTest, FailedSyncIsNotRepeated) {
  const ManualClock clock;
  auto store = std::make_unique<TestStore>(Durability::kOs);
  TestStore& test_store = *store;
  StoreGuard guard(std::move(store), clock, true);
  test_store.failure = absl::InternalError("broken disk");
  EXPECT_EQ(guard.sync().code(), absl::StatusCode::kInternal);
  test_store.failure = absl::OkStatus();
  EXPECT_EQ(guard.sync().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(test_store.syncs, 1);
}

TEST(StoreGuardTest, CommitsOfOneSecondShareSync) {
  ManualClock clock;
  auto store = std::make_unique<TestStore>(Durability::kEverySec);
  const TestStore& test_store = *store;
  StoreGuard guard(std::move(store), clock, true);
  EXPECT_EQ(guard.sync_due_ms(), ServiceThread::kNever);
  guard.note_commit(false);
  clock.advance_ms(BackgroundSync::kEveryMs - 1);
  guard.note_commit(false);
  guard.sync_if_due(clock.monotonic_ms());
  EXPECT_EQ(test_store.syncs, 0);
  clock.advance_ms(1);
  guard.sync_if_due(clock.monotonic_ms());
  EXPECT_EQ(test_store.syncs, 1);
  EXPECT_EQ(guard.sync_due_ms(), ServiceThread::kNever);
}

TEST(StoreGuardTest, ClosedGuardHasNoStore) {
  const ManualClock clock;
  StoreGuard guard(std::make_unique<TestStore>(), clock, true);
  guard.close();
  EXPECT_EQ(guard.sync().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(guard.health().ok());
}

}  // namespace
}  // namespace rushgate
