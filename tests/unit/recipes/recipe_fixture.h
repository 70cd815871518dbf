// One backend of each kind that recipes support: the engine in memory and on RocksDB, both in
// manual mode, and a real Redis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/redis_server/lent_redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {

enum class RecipeKind : std::uint8_t { kMemory, kRocksDb, kRedis };

inline std::string recipe_name(const ::testing::TestParamInfo<RecipeKind>& kind) {
  switch (kind.param) {
    case RecipeKind::kMemory:
      return "Memory";
    case RecipeKind::kRocksDb:
      return "RocksDb";
    case RecipeKind::kRedis:
      return "Redis";
  }
  return "?";
}

/// Returns the kinds whose timers and expiries the test moves by RecipeTest::advance_ms().
inline auto manual_time_recipe_kinds() {
  return ::testing::Values(RecipeKind::kMemory, RecipeKind::kRocksDb);
}

inline auto all_recipe_kinds() {
  return ::testing::Values(RecipeKind::kMemory, RecipeKind::kRocksDb, RecipeKind::kRedis);
}

/// On a Redis only the time of day is manual. Its timers and expiries are real.
class RecipeTest : public ::testing::TestWithParam<RecipeKind> {
 protected:
  RecipeTest() {
    if (GetParam() == RecipeKind::kRedis) {
      server_.emplace(rushgate::testing::LentRedisServer::Time::kManual);
    }
    backend_ = open();
    client_ = backend_->open_client();
  }

  /// Opens the backend. On Redis, opens that of another process.
  std::unique_ptr<Backend> open() {
    if (GetParam() == RecipeKind::kRedis) {
      return value(RedisBackend::open(*RedisOptions::from_url((*server_)->url())));
    }
    std::unique_ptr<Store> store = std::make_unique<MemoryStore>();
    if (GetParam() == RecipeKind::kRocksDb) store = value(RocksDbStore::open(directory_.path()));
    auto engine = value(Engine::open(std::move(store), {.manual_clock = &clock_}));
    engine_ = engine.get();
    return engine;
  }

  void advance_ms(std::int64_t duration_ms) {
    if (engine_ != nullptr) return engine_->advance_ms(duration_ms);
    clock_.advance_ms(duration_ms);
    (*server_)->set_now_ms(clock_.now_ms());
  }
  /// Sets only the time of day.
  void set_now_ms(std::int64_t now_ms) {
    clock_.set_now_ms(now_ms);
    if (server_) (*server_)->set_now_ms(now_ms);
  }

  template <class T>
  static T value(absl::StatusOr<T> opened) {
    if (!opened.ok()) throw std::runtime_error(opened.status().ToString());
    return *std::move(opened);
  }

  ManualClock clock_;
  TemporaryDirectory directory_;
  std::optional<rushgate::testing::LentRedisServer> server_;  // on Redis
  Engine* engine_ = nullptr;                                  // elsewhere: backend_
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
};

}  // namespace rushgate
