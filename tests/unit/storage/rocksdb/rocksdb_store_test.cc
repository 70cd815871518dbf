#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/faults/resource_limits.h"
#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"
#include <rushgate/rocksdb_store.h>
#include <rushgate/store_contract.h>

namespace rushgate {
namespace store_contract {
namespace {

class RocksDbSubject final : public Subject {
 public:
  RocksDbSubject() { RocksDbSubject::reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    auto store = RocksDbStore::open(directory_.path());
    if (!store.ok()) FAIL() << store.status();
    store_ = *std::move(store);
  }

 private:
  StoreDirectory directory_;
  std::unique_ptr<RocksDbStore> store_;
};

INSTANTIATE_TEST_SUITE_P(RocksDb, StoreTest,
                         ::testing::Values(Maker{
                             "RocksDb", [] { return std::make_unique<RocksDbSubject>(); }}),
                         name_of);

}  // namespace
}  // namespace store_contract

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(RocksDbTest, DirectoryIsCreatedWithParents) {
  const auto store = RocksDbStore::open(dir() / "a" / "b");
  EXPECT_TRUE(store.ok()) << store.status();
}

TEST_F(RocksDbTest, MissingDirectoryWithoutCreateIsNotFound) {
  options_.create_if_missing = false;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(dir()));
  fs::create_directories(dir());
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(list().empty());
}

TEST_F(RocksDbTest, DurabilityMemoryIsRefused) {
  options_.durability = Durability::kMemory;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RocksDbTest, ForeignDirectoryIsRefusedUnchanged) {
  fs::create_directories(dir());
  write_file(dir() / "letter.txt", "Dear Ann");
  const absl::Status status = try_open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(dir().string() + " is not a Rushgate store"));
  EXPECT_FALSE(is_held_by_another(status));
  EXPECT_EQ(list().size(), 1U);
}

TEST_F(RocksDbTest, RegularFileIsRefused) {
  write_file(dir(), "not a directory");
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(is_held_by_another(try_open().status()));
}

TEST_F(RocksDbTest, ForeignDatabaseIsRefusedUnchanged) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, dir().string(), &db).ok());
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), "their", "data").ok());
  delete db;
  const auto before = list();
  const absl::Status status = try_open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("without our format record"));
  EXPECT_EQ(list(), before);
}

void store_format(const fs::path& dir, const std::string& format) {
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  ASSERT_TRUE(rocksdb::DB::Open(rocksdb::DBOptions(), dir.string(),
                                {{"default", {}}, {"state", {}}, {"stream", {}}}, &families, &db)
                  .ok());
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), "rushgate.format", format).ok());
  ASSERT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
  for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  delete db;
}

/// Rewrites the tables of the stream family as many small ones.
void split_tables(const fs::path& dir) {
  rocksdb::ColumnFamilyOptions small;
  small.target_file_size_base = 1'000;
  small.compression = rocksdb::kNoCompression;
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  ASSERT_TRUE(rocksdb::DB::Open(rocksdb::DBOptions(), dir.string(),
                                {{"default", {}}, {"state", {}}, {"stream", small}}, &families, &db)
                  .ok());
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(db->CompactRange(all, families[2], nullptr, nullptr).ok());
  for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  delete db;
}

TEST_F(RocksDbTest, ManyTablesNeedFewOpenFiles) {
  constexpr std::uint64_t kCommits = 4'000;
  {
    const auto store = open();
    for (std::uint64_t n = 1; n <= kCommits; ++n) ASSERT_TRUE(commit_number(*store, n).ok());
  }
  split_tables(dir());
  ASSERT_GT(tables(dir()).size(), 200U);
  const OpenFilesLimit limit(128);
  {
    const auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(count_commits(*store), kCommits);
    EXPECT_TRUE(commit_number(*store, kCommits + 1).ok());
  }
  EXPECT_EQ(count_commits(*open()), kCommits + 1);
}

TEST_F(RocksDbTest, UnknownFormatIsRefusedUnchanged) {
  open();
  const std::string ours = std::to_string(kStoreFormat);
  const std::string next = std::to_string(kStoreFormat + 1);
  for (const std::string& format : {next, std::string("1"), std::string("0"), std::string(),
                                    ours + 'x', std::string("99999999999")}) {
    store_format(dir(), format);
    const auto before = list();
    const absl::Status status = try_open().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    const std::string expected =
        absl::StrCat("the store in ", dir().string(), " has format \"", format,
                     "\"; this program reads format ", ours, " only");
    EXPECT_EQ(status.message(), expected);
    EXPECT_EQ(list(), before);
  }
}

TEST_F(RocksDbTest, SecondOpenerLearnsOwnerOfDirectory) {
  auto store = open();
  const absl::Status status = try_open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(is_held_by_another(status));
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("directory " + dir().string() + " is in use by " + program_invocation_short_name +
                " (pid " + std::to_string(getpid()) + "), since 20"));
  EXPECT_EQ(try_open().status(), status);  // the first refusal changed nothing
  store.reset();
  EXPECT_TRUE(try_open().ok());
}

TEST_F(RocksDbTest, SecondProcessIsRefusedUntilFirstEnds) {
  auto store = open();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(try_open().status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

TEST_F(RocksDbTest, LoadVisitsManyRecordsInOrder) {
  std::vector<std::pair<std::string, std::string>> written;
  StoreBatch batch;
  for (char name = 'a'; name <= 'z'; ++name) {
    written.emplace_back(std::string(1, name), std::string(300'000, name));
    batch.put(written.back().first, written.back().second);
  }
  ASSERT_TRUE(open()->commit(batch).ok());

  std::vector<std::pair<std::string, std::string>> loaded;
  const absl::Status status = open()->load(
      [&](std::string_view key, std::string_view value) { loaded.emplace_back(key, value); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(loaded, written);
}

TEST_F(RocksDbTest, LoadWorksOnce) {
  auto store = open();
  EXPECT_EQ(count_commits(*store), 0U);
  EXPECT_EQ(store->load([](std::string_view, std::string_view) {}).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RocksDbTest, ShortenedLogLosesNothing) {
  options_.log_bytes_max = 1'000'000;
  auto store = open();
  std::uint64_t number = 0;
  std::uintmax_t log_bytes = 0;
  // A background flush shrinks the log at an unknown time. The test ends when that has happened,
  // and otherwise runs into its time limit.
  while (number < 20'000 || log_bytes > 3'000'000) {
    ASSERT_TRUE(commit_number(*store, ++number).ok());
    if (number % 100 != 0) continue;
    log_bytes = logs_bytes(dir());
    if (number >= 20'000) {
      ASSERT_TRUE(store->sync().ok());  // gives the background some processor time
    }
  }
  store.reset();
  EXPECT_EQ(count_commits(*open()), number);
}

TEST_F(RocksDbTest, SyncMayRunOnAnyThread) {
  options_.durability = Durability::kEverySec;
  auto store = open();
  std::atomic<bool> done = false;
  std::thread syncing([&] {
    while (!done) EXPECT_TRUE(store->sync().ok());
  });
  for (std::uint64_t number = 1; number <= 300; ++number) {
    EXPECT_TRUE(commit_number(*store, number).ok());
  }
  done = true;
  syncing.join();
  store.reset();
  EXPECT_EQ(count_commits(*open()), 300U);
}

TEST_F(RocksDbTest, DamagedTablesAreDataLoss) {
  options_.log_bytes_max = 20'000;
  auto store = open();
  for (std::uint64_t number = 1; number <= 500; ++number) {
    ASSERT_TRUE(commit_number(*store, number).ok());
  }
  store.reset();
  open();  // flushes the rest of the log
  for (const fs::path& path : tables(dir())) {
    std::string table = read_file(path);
    for (std::size_t at = 0; at < table.size() / 2; ++at) table[at] = static_cast<char>(~table[at]);
    write_file(path, table);
  }

  const auto damaged = try_open();
  absl::Status status = damaged.status();
  if (status.ok()) status = (*damaged)->load([](std::string_view, std::string_view) {});
  std::vector<StreamSegment> segments;
  if (status.ok()) status = (*damaged)->read_stream(1, {}, StreamId::max(), SIZE_MAX, segments);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir().string()));
}

TEST_F(RocksDbTest, MissingCurrentFileIsDataLoss) {
  auto store = open();
  ASSERT_TRUE(commit_number(*store, 1).ok());
  store.reset();
  fs::remove(dir() / "CURRENT");
  const auto before = list();
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(list(), before);
}

TEST_F(RocksDbTest, OnlyFirstFailureIsLogged) {
  fs::create_directories(dir());
  const auto disk = faults::PowerCutFileSystem::make(dir());
  std::ostringstream heard;
  options_.logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(heard));
  options_.env = disk->env();
  auto store = open();
  disk->cut_power();
  for (std::uint64_t number = 1; number <= 2; ++number) {
    EXPECT_FALSE(commit_number(*store, number).ok());
  }
  EXPECT_THAT(heard.str(), HasSubstr("nothing is written until the store is reopened"));
  EXPECT_EQ(heard.str().find("nothing more"), heard.str().rfind("nothing more"));
}

}  // namespace
}  // namespace rushgate
