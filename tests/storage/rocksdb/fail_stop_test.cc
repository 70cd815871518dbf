// Tables that cannot be written: RocksDB's assertions must not meet what is left of them.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "storage/rocksdb/fail_stop_file_system.h"
#include "storage/rocksdb/info_log.h"
#include "storage/rocksdb/write_failure.h"
#include "tests/faults/power_cut_file_system.h"
#include "tests/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

// A compaction that ends with nothing to keep writes a table without keys, and deletes it. RocksDB
// 7.8 reads that table's first key when it could not be written.
TEST(FailStopTest, CompactionToNothingFailsAtAnyOperation) {
  const TemporaryDirectory temporary;
  int failures = 0;
  bool through = false;
  for (int operations = 0; !through; ++operations) {
    SCOPED_TRACE("power is cut after " + std::to_string(operations) + " operations");
    const fs::path dir = temporary.path() / std::to_string(operations);
    fs::create_directories(dir);
    const auto disk = faults::PowerCutFileSystem::make(dir);
    const auto failure = std::make_shared<WriteFailure>(nullptr);
    const auto env = make_fail_stop_env(*disk->env(), failure, dir);
    rocksdb::Options options;
    options.env = env.get();
    options.info_log = std::make_shared<InfoLog>(nullptr, env->GetSystemClock());
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, dir.string(), &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, "key", "value").ok());
    ASSERT_TRUE(db->Flush({}).ok());
    ASSERT_TRUE(db->DeleteRange({}, db->DefaultColumnFamily(), "a", "z").ok());
    ASSERT_TRUE(db->Flush({}).ok());
    disk->cut_power_after(operations);
    const rocksdb::Status status = db->CompactRange({}, nullptr, nullptr);
    through = status.ok();
    if (failure->occurred()) ++failures;
    EXPECT_FALSE(through && failure->occurred());
  }
  EXPECT_GE(failures, 2) << "a write and a sync of the table";
}

}  // namespace
}  // namespace rushgate
