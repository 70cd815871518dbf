// Durability `sync`: expired keys cost no fsync of their own.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/faults/recorded_syncs.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

class ExpiryDiskTest : public ::testing::Test {
 protected:
  ExpiryDiskTest() { reopen(); }

  void reopen() {
    client_.reset();
    engine_.reset();
    auto store = RocksDbStore::open(directory_.path(), {.durability = Durability::kSync});
    ASSERT_TRUE(store.ok()) << store.status();
    engine_ = open_engine({.manual_clock = &clock_}, {}, *std::move(store));
    client_ = engine_->open_client();
  }

  const TemporaryDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

TEST_F(ExpiryDiskTest, RemovalsShareTheNextFsync) {
  std::vector<Request> requests;
  for (int i = 0; i < 2'000; ++i) requests.push_back(Request::of("SET", i, "v", "PX", 100));
  client_->pipeline(requests);
  {
    const faults::RecordedSyncs syncs;
    engine_->advance_ms(100);
    EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
    EXPECT_EQ(syncs.paths().size(), 0U);
    (*client_)("SET", "other", "v");
    EXPECT_EQ(syncs.paths().size(), 1U);
  }
  reopen();
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(1));
}

}  // namespace
}  // namespace rushgate
