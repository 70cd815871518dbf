// The reports of the thread that syncs with durability `everysec`.
#include "engine/redis/executor/background_sync.h"

#include <new>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(BackgroundSyncTest, ExceptionIsReported) {
  std::vector<absl::Status> reported;
  BackgroundSync sync([] { throw std::bad_alloc(); },
                      [&](const absl::Status& reason) { reported.push_back(reason); });
  sync.start();
  sync.note_write();
  sync.stop();
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace rushgate
