// A full disk, and a limit on file sizes: opening and writing return an error.
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/faults/resource_limits.h"
#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint64_t kFittingCommits = 5;

class FullDiskTest : public RocksDbTest {
 protected:
  void SetUp() override { start_over(); }

  void start_over() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    disk_ = faults::PowerCutFileSystem::make(dir());
    options_.env = disk_->env();
  }

  /// Opens the store with `room_bytes` left on the disk.
  absl::Status open_with(std::uint64_t room_bytes) {
    disk_->fill_up_after(room_bytes);
    absl::Status status = try_open().status();
    disk_->make_space();
    return status;
  }

  void make_store() {
    auto store = open();
    for (std::uint64_t number = 1; number <= kFittingCommits; ++number) {
      ASSERT_TRUE(commit_number(*store, number).ok());
    }
  }

  static constexpr std::uint64_t kStepBytes = 401;  // not a divisor of the size of a write
  static constexpr std::uint64_t kRoomMax = 1'000'000;

  std::shared_ptr<faults::PowerCutFileSystem> disk_;
};

// RocksDB's own log used to be a file here. Without space for it an assertion ended the process.
TEST_F(FullDiskTest, CreationOnFullDiskIsError) {
  absl::Status status = absl::UnknownError("");
  std::uint64_t room = 0;
  for (; !status.ok() && room < kRoomMax; room += kStepBytes) {
    start_over();
    status = open_with(room);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << room << ": " << status;
      ASSERT_THAT(std::string(status.message()), HasSubstr(dir().string()));
    }
    make_store();
    ASSERT_EQ(count_commits(*open()), kFittingCommits);
  }
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(room, 1'000U) << "creating a store writes more";
}

TEST_F(FullDiskTest, OpeningOnFullDiskIsErrorWithoutLoss) {
  make_store();
  absl::Status status = absl::UnknownError("");
  std::uint64_t room = 0;
  for (; !status.ok() && room < kRoomMax; room += kStepBytes) {
    status = open_with(room);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << room << ": " << status;
  }
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(room, 1'000U) << "opening a store writes more";
  EXPECT_EQ(count_commits(*open()), kFittingCommits);
}

TEST_F(FullDiskTest, RocksDbWritesNoLogFile) {
  make_store();
  std::vector<std::string> names;
  for (const auto& [name, size] : list()) names.push_back(name);
  EXPECT_THAT(names, Each(::testing::Not(::testing::StartsWith("LOG"))));
}

class FileSizeLimitTest : public RocksDbTest {
 protected:
  struct Outcome {
    absl::Status status = {};     // of the failed operation
    std::uint64_t committed = 0;  // before the failure
  };

  /// Opens and commits until an operation fails, or until `commits_max`.
  Outcome commit_within(rlim_t limit_bytes, std::uint64_t before, std::uint64_t commits_max) {
    const FileSizeLimit limit(limit_bytes);
    Outcome outcome{.committed = before};
    auto store = RocksDbStore::open(dir(), options_);
    if (!store.ok()) {
      outcome.status = store.status();
      return outcome;
    }
    while (outcome.status.ok() && outcome.committed < commits_max) {
      outcome.status = commit_number(**store, outcome.committed + 1);
      if (outcome.status.ok()) ++outcome.committed;
    }
    return outcome;
  }
};

TEST_F(FileSizeLimitTest, WritePastLimitIsErrorWithoutLoss) {
  std::uint64_t committed = 0;
  for (const rlim_t limit_bytes : {0U, 10U, 100U, 1000U, 4000U, 10'000U, 50'000U}) {
    SCOPED_TRACE(limit_bytes);
    const Outcome outcome = commit_within(limit_bytes, committed, 10'000);
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("File too large"));
    committed = outcome.committed;
    ASSERT_EQ(count_commits(*open()), committed);
  }
  EXPECT_GT(committed, 20U);
}

// A thread of RocksDB writes the table.
TEST_F(FileSizeLimitTest, TablePastLimitIsErrorWithoutLoss) {
  options_.log_bytes_max = 20'000;
  const Outcome outcome = commit_within(150'000, 0, 100'000);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("File too large"));
  EXPECT_EQ(count_commits(*open()), outcome.committed);
}

}  // namespace
}  // namespace rushgate
