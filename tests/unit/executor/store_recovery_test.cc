// An engine whose disk fills up, or fails for a while, goes on by itself.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/engine_on_disk.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class StoreRecoveryTest : public EngineOnDiskTest {
 protected:
  /// Appends to a stream and counts until the store fails. Returns the number of accepted appends.
  int append_until_failure() {
    for (int accepted = 0;; ++accepted) {
      const Reply reply = (*client_)("EVAL", kAppend, 0);
      if (!reply.is_error()) continue;
      EXPECT_TRUE(has_code(reply, error_code::kOutcomeUnknown)) << reply.text();
      return accepted;
    }
  }
  /// Expects that the stream and the counter agree on `count` appends.
  void expect_appends(std::int64_t count) {
    EXPECT_EQ((*client_)("XLEN", "stream"), Reply::integer(count));
    EXPECT_EQ((*client_)("XRANGE", "stream", "-", "+").elements().size(),
              static_cast<std::size_t>(count));
    EXPECT_EQ((*client_)("GET", "count"), Reply::bulk(std::to_string(count)));
  }

  static constexpr const char* kAppend =
      "redis.call('INCR', 'count') return redis.call('XADD', 'stream', '*', 'field', 'value')";
};

TEST_F(StoreRecoveryTest, FullDiskIsAwaited) {
  open(&clock_);
  disk_->fill_up_after(5'000);
  const int accepted = append_until_failure();
  engine_->advance_ms(60'000);
  EXPECT_TRUE(has_code((*client_)("EVAL", kAppend, 0), "MISCONF"));
  EXPECT_EQ(engine_->health().code(), absl::StatusCode::kUnavailable);
  expect_appends(accepted);
  disk_->make_space();
  engine_->advance_ms(100);
  EXPECT_TRUE(engine_->health().ok()) << engine_->health();
  EXPECT_TRUE((*client_)("EVAL", kAppend, 0).is_text());
  expect_appends(accepted + 1);
  close();
  open(&clock_);
  expect_appends(accepted + 1);
}

TEST_F(StoreRecoveryTest, FailedSyncIsUndone) {
  open(&clock_);
  EXPECT_TRUE((*client_)("EVAL", kAppend, 0).is_text());
  disk_->fail_next_sync();
  EXPECT_EQ(append_until_failure(), 0);
  engine_->advance_ms(100);
  expect_appends(1);
  EXPECT_TRUE((*client_)("EVAL", kAppend, 0).is_text());
  close();
  open(&clock_);
  expect_appends(2);
}

TEST_F(StoreRecoveryTest, ExpiryGoesOn) {
  open(&clock_);
  (*client_)("SET", "key", "value", "PX", 1'000);
  disk_->fail_next_sync();
  EXPECT_EQ(append_until_failure(), 0);
  engine_->advance_ms(1'000);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
}

TEST_F(StoreRecoveryTest, LostDataNeedsNewEngine) {
  open(&clock_);
  EXPECT_TRUE((*client_)("EVAL", kAppend, 0).is_text());
  disk_->fail_next_sync();
  EXPECT_EQ(append_until_failure(), 0);
  for (const auto& file : std::filesystem::directory_iterator(dir())) {
    if (file.path().extension() == ".log") std::filesystem::resize_file(file.path(), 0);
  }
  engine_->advance_ms(60'000);
  EXPECT_EQ(engine_->health().code(), absl::StatusCode::kDataLoss) << engine_->health();
  EXPECT_THAT((*client_)("EVAL", kAppend, 0).text(), HasSubstr("open it again"));
}

/// Each append survives or is reported, wherever the disk fails and for how long.
TEST_F(StoreRecoveryTest, EveryFaultIsSurvived) {
  open(&clock_);
  std::int64_t accepted = 0;
  for (int operations = 0; operations < 60; ++operations) {
    SCOPED_TRACE("operation " + std::to_string(operations));
    disk_->cut_power_after(operations % 50);
    for (int i = 0; i < 20; ++i) {
      if ((*client_)("EVAL", kAppend, 0).is_text()) ++accepted;
    }
    engine_->advance_ms(operations * 10);  // some attempts fail, too
    disk_->reconnect();
    engine_->advance_ms(1'000);
    ASSERT_TRUE(engine_->health().ok()) << engine_->health();
    ASSERT_TRUE((*client_)("EVAL", kAppend, 0).is_text());
    ++accepted;
  }
  expect_appends(accepted);
  close();
  open(&clock_);
  expect_appends(accepted);
}

TEST_F(StoreRecoveryTest, ThreadReopensStoreUnderLoad) {
  open(nullptr, Durability::kEverySec);
  std::int64_t accepted = 0;
  for (int round = 0; round < 5; ++round) {
    disk_->fill_up_after(5'000);
    accepted += append_until_failure();
    EXPECT_FALSE((*client_)("GET", "count").is_error());
    disk_->make_space();
    while (!(*client_)("EVAL", kAppend, 0).is_text()) std::this_thread::yield();
    ++accepted;
  }
  expect_appends(accepted);
  close();
  open(nullptr);
  expect_appends(accepted);
}

TEST_F(StoreRecoveryTest, EachCloseWaitsForRecovery) {
  for (int round = 0; round < 10; ++round) {
    open(nullptr);
    disk_->fill_up_after(2'000);
    append_until_failure();
    disk_->make_space();  // from now on it is reopened at any moment
    std::thread another([this] { engine_->close(EndOfScripts::kKill); });
    engine_->close();
    another.join();
    close();
  }
}

}  // namespace
}  // namespace rushgate
