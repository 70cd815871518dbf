// Set records on disk. Rewriting a set deletes a range and writes to it in one batch.
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/keyspace/set_records_model.h"
#include <rushgate/rocksdb_store.h>

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
