// An engine on a RocksDB store whose disk fills up, fails or loses its power.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/engine.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {

class EngineOnDiskTest : public ::testing::Test {
 protected:
  /// Opens the engine, in manual mode unless `clock` is null.
  void open(ManualClock* clock, Durability durability = Durability::kSync) {
    auto store = RocksDbStore::open(dir(), {.durability = durability, .env = disk_->env()});
    ASSERT_TRUE(store.ok()) << store.status();
    auto engine = Engine::open(*std::move(store), {.manual_clock = clock});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }
  void close() {
    client_.reset();
    engine_.reset();
  }
  [[nodiscard]] std::filesystem::path dir() const { return scratch_.path() / "keyspace"; }

  const TemporaryDirectory scratch_;
  const std::shared_ptr<faults::PowerCutFileSystem> disk_ = faults::PowerCutFileSystem::make(dir());
  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

}  // namespace rushgate
