// Lists in the store on disk.
#include <memory>

#include <gtest/gtest.h>

#include "storage/rocksdb/rocksdb_store.h"
#include "tests/keyspace/lists_model.h"
#include "tests/temporary_directory.h"

namespace rushgate {
namespace {

TEST(ListsOnDiskTest, RandomChangesMatchModel) {
  const TemporaryDirectory directory;
  ListsModel model([&]() -> std::unique_ptr<Store> {
    auto store = RocksDbStore::open(directory.path() / "keyspace");
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  });
  model.run(150);
}

}  // namespace
}  // namespace rushgate
