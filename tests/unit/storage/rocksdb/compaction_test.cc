// Concurrency of RocksDB's background jobs.
#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

namespace rushgate {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOStatus;

/// A disk on which the first compaction blocks.
class HeldDisk final : public rocksdb::FileSystemWrapper {
 public:
  HeldDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  [[nodiscard]] const char* Name() const override { return "HeldDisk"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (name.ends_with(".sst") && is_compaction_thread()) hold();
    return target()->NewWritableFile(name, options, file, debug);
  }

  bool is_held() {
    const std::lock_guard lock(mutex_);
    return is_held_;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }

 private:
  static bool is_compaction_thread() {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return std::string_view(name.data()).starts_with("rocksdb:low");
  }

  void hold() {
    std::unique_lock lock(mutex_);
    if (std::exchange(is_held_, true)) return;
    changed_.wait(lock, [&] { return is_released_; });
  }

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_released_ = false;
};

class CompactionTest : public RocksDbTest {
 protected:
  static constexpr std::size_t kLogBytes = 20'000;

  CompactionTest() {
    options_.env = env_.get();
    options_.log_bytes_max = kLogBytes;
  }

  void commit_state(Store& store) {
    StoreBatch batch;
    for (int i = 0; i < 10; ++i) {
      batch.put("record " + std::to_string(++number_), std::string(100, 'v'));
    }
    ASSERT_TRUE(store.commit(batch).ok());
  }
  void commit_segment(Store& store) {
    StoreBatch batch;
    batch.append_segment(1, {++number_, 0}, std::string(1'000, 'e'));
    ASSERT_TRUE(store.commit(batch).ok());
  }

  const std::shared_ptr<HeldDisk> disk_ = std::make_shared<HeldDisk>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  std::uint64_t number_ = 0;
};

// Commits stop at 36 overlapping tables of the stream. This test stays below that.
TEST_F(CompactionTest, StreamDoesNotWaitForState) {
  constexpr std::uint64_t kTables = 25;
  constexpr auto kPatience = std::chrono::seconds(60);
  auto store = open();
  while (!disk_->is_held()) commit_state(*store);
  ASSERT_EQ(store->work().compactions, 0U);
  const std::uint64_t flushes = store->work().flushes;
  while (store->work().flushes < flushes + kTables) commit_segment(*store);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (store->work().compactions == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(store->work().compactions, 0U)
      << "the stream is compacted while that of the state blocks";
  disk_->release();
}

}  // namespace
}  // namespace rushgate
