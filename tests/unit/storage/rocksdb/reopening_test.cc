// A store that failed goes on: it is reopened without the failed commit, also after further faults.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/rocksdb/directory_lock.h"
#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/sweep.h"
#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kKeptCommits = 5;  // before the failed one

absl::Status reopen(Store& store) {
  return store.reopen([](absl::FunctionRef<void()> run) { run(); });
}

class ReopeningTest : public RocksDbTest {
 protected:
  ReopeningTest() { options_.durability = Durability::kSync; }

  /// Begins with a new disk and a store with kKeptCommits commits.
  void start_over() {
    store_.reset();
    fs::remove_all(dir());
    fs::create_directories(dir());
    disk_ = faults::PowerCutFileSystem::make(dir());
    options_.env = disk_->env();
    store_ = open();
    for (std::uint64_t number = 1; number <= kKeptCommits; ++number) {
      ASSERT_TRUE(commit_number(*store_, number).ok());
    }
  }

  /// Fails a commit whose bytes are in the log.
  void fail_sync() {
    disk_->fail_next_sync();
    ASSERT_FALSE(commit_number(*store_, kKeptCommits + 1).ok());
  }
  /// Fails a commit of which the log has a part.
  void fill_disk() {
    disk_->fill_up_after(100);
    ASSERT_FALSE(commit_number(*store_, kKeptCommits + 1).ok());
  }

  /// Expects that the store has no failed commit, and goes on.
  void expect_goes_on() {
    for (std::uint64_t number = kKeptCommits + 1; number <= 2 * kKeptCommits; ++number) {
      ASSERT_EQ(commit_number(*store_, number), absl::OkStatus());
    }
    EXPECT_EQ(store_->sync(), absl::OkStatus());
    store_.reset();
    EXPECT_EQ(count_commits(*open()), 2 * kKeptCommits);
    EXPECT_FALSE(fs::exists(dir() / "rushgate.limit"));
    EXPECT_FALSE(fs::exists(dir() / "rushgate.probe"));
  }

  std::shared_ptr<faults::PowerCutFileSystem> disk_;
  std::unique_ptr<RocksDbStore> store_;
};

TEST_F(ReopeningTest, FullDiskIsAwaited) {
  start_over();
  fill_disk();
  EXPECT_EQ(reopen(*store_).code(), absl::StatusCode::kResourceExhausted);
  std::vector<StreamSegment> segments;
  EXPECT_EQ(store_->read_stream(1, StreamId::min(), {kKeptCommits, 0}, SIZE_MAX, segments),
            absl::OkStatus())
      << "reads continue";
  EXPECT_EQ(segments.size(), kKeptCommits);
  disk_->make_space();
  ASSERT_EQ(reopen(*store_), absl::OkStatus());
  expect_goes_on();
}

TEST_F(ReopeningTest, CommitInLogIsUndone) {
  start_over();
  fail_sync();
  ASSERT_EQ(reopen(*store_), absl::OkStatus());
  expect_goes_on();
}

TEST_F(ReopeningTest, FailedSyncLosesNothing) {
  options_.durability = Durability::kEverySec;
  start_over();
  disk_->fail_next_sync();
  ASSERT_FALSE(store_->sync().ok());
  ASSERT_EQ(reopen(*store_), absl::OkStatus());
  expect_goes_on();
}

TEST_F(ReopeningTest, VanishedDirectoryIsAwaited) {
  start_over();
  fail_sync();
  const fs::path elsewhere = dir().string() + ".elsewhere";
  fs::rename(dir(), elsewhere);
  fs::create_directory(dir());  // the empty place of a file system that is not mounted
  const absl::Status vanished = reopen(*store_);
  EXPECT_EQ(vanished.code(), absl::StatusCode::kUnavailable) << vanished;
  EXPECT_THAT(std::string(vanished.message()), HasSubstr("no longer in " + dir().string()));
  EXPECT_TRUE(fs::is_empty(dir()));
  fs::remove(dir());
  fs::rename(elsewhere, dir());
  ASSERT_EQ(reopen(*store_), absl::OkStatus());
  expect_goes_on();
}

TEST_F(ReopeningTest, LostCommitIsReported) {
  start_over();
  fail_sync();
  fs::resize_file(newest_log(dir()), 0);
  EXPECT_EQ(reopen(*store_).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReopeningTest, DirectoryTakenByAnotherIsAwaited) {
  start_over();
  fail_sync();
  fs::remove(dir() / kLockFileName);  // as after a remount: the lock is that of another file
  {
    const auto another = DirectoryLock::take(dir());
    ASSERT_TRUE(another.ok()) << another.status();
    EXPECT_TRUE(is_held_by_another(reopen(*store_)));
  }
  ASSERT_EQ(reopen(*store_), absl::OkStatus());
  EXPECT_TRUE(is_held_by_another(DirectoryLock::take(dir()).status()));
  expect_goes_on();
}

TEST_F(ReopeningTest, OperationsOfAnotherAreKept) {
  start_over();
  fail_sync();
  fs::remove(dir() / kLockFileName);
  constexpr std::uint64_t kAll = 3 * kKeptCommits;
  {
    const auto lock = DirectoryLock::take(dir());
    EXPECT_TRUE(is_held_by_another(reopen(*store_)));  // from now on RocksDB is closed
  }
  {
    const auto another = open();
    for (std::uint64_t number = count_commits(*another) + 1; number <= kAll; ++number) {
      ASSERT_EQ(commit_number(*another, number), absl::OkStatus());
    }
  }
  const absl::Status reopened = reopen(*store_);
  EXPECT_EQ(reopened.code(), absl::StatusCode::kDataLoss) << reopened;
  EXPECT_THAT(std::string(reopened.message()), HasSubstr("of another process"));
  store_.reset();
  EXPECT_EQ(count_commits(*open()), kAll);
}

TEST_F(ReopeningTest, ProbeOfKilledProcessIsRemoved) {
  start_over();
  store_.reset();
  std::ofstream(dir() / "rushgate.probe") << "zeros";
  store_ = open();
  expect_goes_on();
}

// ---- Faults at every I/O of the reopening ----

/// Fails a commit in one of two ways, and then the operation of each number of a reopening.
class ReopeningSweepTest : public ReopeningTest, public ::testing::WithParamInterface<bool> {
 protected:
  /// `recover` gets the store that failed to reopen. It is called for each operation that can fail.
  void sweep(const std::function<void()>& recover) {
    constexpr int kOperationsMax = 1'000;
    testing::Sweep places(/*share=*/4);
    SCOPED_TRACE(places.seed_text());
    int nth = 0;
    for (bool is_hit = true; is_hit && !HasFailure();) {
      nth = places.next();
      ASSERT_LT(nth, kOperationsMax);
      SCOPED_TRACE("operation " + std::to_string(nth));
      start_over();
      GetParam() ? fail_sync() : fill_disk();
      disk_->make_space();
      disk_->cut_power_after(nth - 1);
      const absl::Status reopened = reopen(*store_);
      is_hit = !reopened.ok();
      EXPECT_NE(reopened.code(), absl::StatusCode::kDataLoss) << reopened;
      recover();
    }
    EXPECT_GT(nth, 20) << "a reopening has that many operations";
  }
};
INSTANTIATE_TEST_SUITE_P(Commits, ReopeningSweepTest, ::testing::Bool(),
                         [](const auto& is_in_log) { return is_in_log.param ? "InLog" : "Torn"; });

TEST_P(ReopeningSweepTest, LaterReopeningGoesOn) {
  sweep([this] {
    disk_->reconnect();
    ASSERT_EQ(reopen(*store_), absl::OkStatus());
    expect_goes_on();
  });
}

TEST_P(ReopeningSweepTest, ProcessMayEnd) {
  sweep([this] {
    store_.reset();
    disk_->reconnect();
    const std::uint64_t count = count_commits(*open());
    EXPECT_TRUE(count == kKeptCommits || count == kKeptCommits + 1) << count;
  });
}

TEST_P(ReopeningSweepTest, PowerMayFail) {
  sweep([this] {
    store_.reset();
    disk_->power_on(random_seed());
    const std::uint64_t count = count_commits(*open());
    EXPECT_TRUE(count == kKeptCommits || count == kKeptCommits + 1) << count;
  });
}

}  // namespace
}  // namespace rushgate
