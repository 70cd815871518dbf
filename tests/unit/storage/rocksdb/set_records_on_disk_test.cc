// Set records on disk. Rewriting a set deletes a range and writes to it in one batch.
#include <memory>

#include <gtest/gtest.h>

#include "storage/rocksdb/rocksdb_store.h"
#include "tests/keyspace/set_records_model.h"
#include "tests/temporary_directory.h"

namespace rushgate {
namespace {

TEST(SetRecordsOnDiskTest, RandomChangesMatchModel) {
  const TemporaryDirectory directory;
  SetRecordsModel model([&]() -> std::unique_ptr<Store> {
    auto store = RocksDbStore::open(directory.path() / "keyspace");
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  });
  model.run(100);
  EXPECT_GT(model.rewrites(), 0U);
}

}  // namespace
}  // namespace rushgate
