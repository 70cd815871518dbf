// A second process that reads a store while the first writes it. Here both are in one process: they
// share nothing but the directory.
#include "storage/rocksdb/rocksdb_reader.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

namespace rushgate {
namespace {

class RocksDbReaderTest : public RocksDbTest {
 protected:
  std::unique_ptr<RocksDbReader> open_reader() {
    auto reader = RocksDbReader::open(dir());
    EXPECT_EQ(reader.status(), absl::OkStatus());
    return reader.ok() ? *std::move(reader) : nullptr;
  }
  static std::uint64_t count_read(RocksDbReader& reader) {
    const auto store = reader.read();
    EXPECT_EQ(store.status(), absl::OkStatus());
    return store.ok() ? count_commits(**store) : 0;
  }
};

TEST_F(RocksDbReaderTest, ReadHasEveryFinishedCommit) {
  const auto store = open();
  const auto reader = open_reader();
  EXPECT_EQ(count_read(*reader), 0U);
  for (std::uint64_t number = 1; number <= 50; ++number) {
    ASSERT_EQ(commit_number(*store, number), absl::OkStatus());
    EXPECT_EQ(count_read(*reader), number);
  }
}

TEST_F(RocksDbReaderTest, ReadsDuringFlushesHaveWholeCommits) {
  options_.log_bytes_max = 1 << 20;  // the log is written to tables, and removed, all the time
  const auto store = open();
  std::atomic<std::uint64_t> committed = 0;
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    while (!is_over) {
      ASSERT_EQ(commit_number(*store, committed + 1), absl::OkStatus());
      ++committed;
    }
  });
  const auto reader = open_reader();
  constexpr std::uint64_t kCommits = 8'000;
  for (std::uint64_t seen = 0; seen < kCommits;) {
    const std::uint64_t before = committed;
    const std::uint64_t read = count_read(*reader);  // fails the test unless they are complete
    EXPECT_GE(read, before);
    EXPECT_GE(read, seen);
    seen = read;
    if (HasFailure()) break;
  }
  is_over = true;
  writer.join();
  EXPECT_EQ(count_read(*reader), committed);
  EXPECT_GT(store->work().flushes, 0U);
}

TEST_F(RocksDbReaderTest, ReaderFollowsWriterThatReopens) {
  auto store = open();
  ASSERT_EQ(commit_number(*store, 1), absl::OkStatus());
  const auto reader = open_reader();
  store.reset();
  EXPECT_EQ(count_read(*reader), 1U);
  store = open();
  ASSERT_EQ(commit_number(*store, 2), absl::OkStatus());
  EXPECT_EQ(count_read(*reader), 2U);
}

TEST_F(RocksDbReaderTest, ReaderChangesNoFile) {
  const auto store = open();
  ASSERT_EQ(commit_number(*store, 1), absl::OkStatus());
  const auto before = list();
  const auto reader = open_reader();
  EXPECT_EQ(count_read(*reader), 1U);
  const auto read = reader->read();
  ASSERT_EQ(read.status(), absl::OkStatus());
  EXPECT_EQ(commit_number(**read, 2), absl::OkStatus());
  EXPECT_EQ(list(), before);
}

TEST_F(RocksDbReaderTest, MissingStoreIsNotFound) {
  EXPECT_EQ(RocksDbReader::open(dir()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(dir()));
}

}  // namespace
}  // namespace rushgate
