// Log files were deleted, for example by a job that removes "*.log".
#include "storage/rocksdb/noted_logs.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faults/power_cut_file_system.h"
#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NotedLogsTest : public RocksDbTest {
 protected:
  static constexpr std::uint64_t kCommits = 10;

  /// Leaves several logs behind, like a killed process or like a closed store.
  void fill(bool is_killed) {
    fs::create_directories(dir());
    const auto disk = faults::PowerCutFileSystem::make(dir());
    options_.env = disk->env();
    options_.log_bytes_max = std::size_t{1} << 30;
    auto store = open();
    ASSERT_NE(store, nullptr);
    std::uint64_t number = 0;
    // The stream keeps the first log alive. Each flush of the state begins another log.
    constexpr std::uint64_t kFlushes = 1 + 3;  // including that of the creation
    while (store->work().flushes < kFlushes) {
      if (number < kCommits) {
        ASSERT_TRUE(commit_number(*store, ++number).ok());
      }
      StoreBatch batch;
      batch.put("large", std::string(std::size_t{1} << 20, 'x'));
      batch.remove("large");
      ASSERT_TRUE(store->commit(batch).ok());
    }
    ASSERT_EQ(number, kCommits);
    ASSERT_TRUE(store->sync().ok());  // else only closing notes the newest log
    if (is_killed) disk->cut_power();
    store.reset();
    options_.env = nullptr;
  }

  std::vector<fs::path> logs() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(dir())) {
      if (entry.path().extension() == ".log") found.push_back(entry.path());
    }
    return found;
  }

  void expect_each_is_missed() {
    ASSERT_GE(logs().size(), 3U);
    for (const fs::path& log : logs()) {
      SCOPED_TRACE(log);
      const fs::path elsewhere = dir().parent_path() / "elsewhere";
      fs::rename(log, elsewhere);
      const auto before = list();
      const auto opened = try_open();
      EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
      EXPECT_THAT(std::string(opened.status().message()), HasSubstr(log.string()));
      EXPECT_EQ(list(), before);
      fs::rename(elsewhere, log);
    }
    EXPECT_EQ(count_commits(*open()), kCommits);
  }
};

TEST_F(NotedLogsTest, DeletedLogOfClosedStoreIsDetected) {
  fill(false);
  expect_each_is_missed();
}

TEST_F(NotedLogsTest, DeletedLogOfKilledStoreIsDetected) {
  fill(true);
  expect_each_is_missed();
}

TEST_F(NotedLogsTest, DeletedLogOfReopenedStoreIsDetected) {
  fill(false);
  open().reset();
  ASSERT_EQ(logs().size(), 1U);
  fs::remove(logs().front());
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(NotedLogsTest, StoreWithoutNoteOpensWithRest) {
  fill(false);
  fs::remove(newest_log(dir()));
  ASSERT_EQ(try_open().status().code(), absl::StatusCode::kDataLoss);
  fs::remove(dir() / kNotedLogsName);
  EXPECT_NE(open(), nullptr);
}

TEST_F(NotedLogsTest, TruncatedNoteIsIgnored) {
  fill(false);
  fs::remove(newest_log(dir()));
  const std::string note = read_file(dir() / kNotedLogsName);
  for (std::size_t bytes = 0; bytes < note.size(); ++bytes) {
    write_file(dir() / kNotedLogsName, note.substr(0, bytes));
    EXPECT_TRUE(check_noted_logs(*rocksdb::Env::Default(), dir(), 0).ok()) << bytes;
  }
  write_file(dir() / kNotedLogsName, std::string(note.size(), '\0'));
  EXPECT_TRUE(check_noted_logs(*rocksdb::Env::Default(), dir(), 0).ok());
  write_file(dir() / kNotedLogsName, note);
  EXPECT_FALSE(check_noted_logs(*rocksdb::Env::Default(), dir(), 0).ok());
}

TEST_F(NotedLogsTest, FlushedLogMayBeMissing) {
  fill(false);
  const auto before = logs();
  const std::string note = read_file(dir() / kNotedLogsName);
  open().reset();
  for (const fs::path& log : before) EXPECT_FALSE(fs::exists(log));
  write_file(dir() / kNotedLogsName, note);  // a power cut may leave the old note
  EXPECT_EQ(count_commits(*open()), kCommits);
}

}  // namespace
}  // namespace rushgate
