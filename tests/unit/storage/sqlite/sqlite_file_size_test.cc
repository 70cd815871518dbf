// A limit on file sizes causes an error, not a signal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faults/resource_limits.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class SqliteFileSizeTest : public SqliteTest {
 protected:
  static constexpr std::int64_t kBatch = 20;

  struct Outcome {
    absl::Status status = {};  // of the failed operation
    std::int64_t stored = 0;   // before the failure
  };

  Outcome store_within(rlim_t limit_bytes, std::int64_t before) {
    const FileSizeLimit limit(limit_bytes);
    Outcome outcome{.stored = before};
    auto store = try_open();
    outcome.status = store.status();
    while (outcome.status.ok()) {
      outcome.status = write_now(**store, make_orders(outcome.stored + 1, kBatch)).status();
      if (outcome.status.ok()) outcome.stored += kBatch;
    }
    if (store.ok()) static_cast<void>((*store)->list({}));
    return outcome;  // closing the database copies the log into it
  }
};

TEST_F(SqliteFileSizeTest, WritePastLimitIsErrorWithoutLoss) {
  std::int64_t stored = 0;
  for (const rlim_t limit_bytes :
       {0U, 100U, 4000U, 30'000U, 50'000U, 100'000U, 200'000U, 300'000U}) {
    SCOPED_TRACE(limit_bytes);
    const Outcome outcome = store_within(limit_bytes, stored);
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(file().string()));
    stored = outcome.stored;
    EXPECT_EQ(check_integrity(), "ok");
    EXPECT_EQ(open()->count_live(kVoucher).value(), stored);
  }
  EXPECT_GT(stored, 100);
}

}  // namespace
}  // namespace rushgate
