// Lists in the store on disk.
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/keyspace/lists_model.h"
#include <rushgate/rocksdb_store.h>

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
