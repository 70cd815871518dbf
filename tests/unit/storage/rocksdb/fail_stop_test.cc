// Writing a table fails: the incomplete table must not reach an assertion of RocksDB.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "storage/rocksdb/fail_stop_file_system.h"
#include "storage/rocksdb/info_log.h"
#include "storage/rocksdb/write_failure.h"
#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

struct TableWork {
  const char* name;
  void (*prepare)(rocksdb::DB& db);
  rocksdb::Status (*write_tables)(rocksdb::DB& db);
};

void put(rocksdb::DB& db, const std::string& key) {
  ASSERT_TRUE(db.Put({}, key, std::string(1'000, 'v')).ok());
}
void flush(rocksdb::DB& db) { ASSERT_TRUE(db.Flush({}).ok()); }
void remove_all(rocksdb::DB& db) {
  ASSERT_TRUE(db.DeleteRange({}, db.DefaultColumnFamily(), "a", "z").ok());
}

rocksdb::Status flush_again(rocksdb::DB& db) { return db.Flush({}); }
rocksdb::Status compact(rocksdb::DB& db) { return db.CompactRange({}, nullptr, nullptr); }

class FailStopTest : public ::testing::TestWithParam<TableWork> {};

// RocksDB 7.8 reads the first key of a compaction's empty table even if the table could not be
// written.
TEST_P(FailStopTest, TableWriteFailsAtAnyOperation) {
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
    GetParam().prepare(*db);
    disk->cut_power_after(operations);
    const rocksdb::Status status = GetParam().write_tables(*db);
    through = status.ok();
    if (failure->occurred()) ++failures;
    EXPECT_FALSE(through && failure->occurred());
  }
  EXPECT_GE(failures, 2) << "a write and a sync of the table";
}

constexpr TableWork kTableWorks[] = {
    {"Flush",
     [](rocksdb::DB& db) {
       put(db, "k1");
       put(db, "k2");
     },
     flush_again},
    {"FlushOfARemoval",
     [](rocksdb::DB& db) {
       put(db, "k1");
       remove_all(db);
     },
     flush_again},
    {"CompactionToNothing",
     [](rocksdb::DB& db) {
       put(db, "k1");
       flush(db);
       remove_all(db);
       flush(db);
     },
     compact},
    {"CompactionToOneTable",
     [](rocksdb::DB& db) {
       for (const char* key : {"k1", "k2", "k3"}) {
         put(db, "k0");
         put(db, key);
         flush(db);
       }
     },
     compact},
    {"CompactionOfAPart",
     [](rocksdb::DB& db) {
       put(db, "k1");
       put(db, "zz");
       flush(db);
       remove_all(db);
       put(db, "k2");
       flush(db);
     },
     compact},
};

INSTANTIATE_TEST_SUITE_P(Works, FailStopTest, ::testing::ValuesIn(kTableWorks),
                         [](const auto& work) { return std::string(work.param.name); });

}  // namespace
}  // namespace rushgate
