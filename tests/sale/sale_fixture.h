// A sale on each backend that users run it on: the engine in memory, the engine on RocksDB, a real
// Redis.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/redis/redis_backend.h"
#include "adapters/testing/faulty_store.h"
#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "engine/sale/vouchers/keyspace_run.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "storage/sqlite/sqlite_order_store.h"
#include "tests/faults/faulty_order_store.h"
#include "tests/forwarding_backend.h"
#include "tests/redis_server/redis_server.h"
#include "tests/temporary_directory.h"

namespace rushgate {

enum class BackendKind : std::uint8_t { kMemory, kRocksDb, kRedis };

inline std::string backend_name(const ::testing::TestParamInfo<BackendKind>& kind) {
  switch (kind.param) {
    case BackendKind::kMemory:
      return "Memory";
    case BackendKind::kRocksDb:
      return "RocksDb";
    case BackendKind::kRedis:
      return "Redis";
  }
  return "?";
}

/// The keyspace, the database and the clock under a sale. The embedded ones run in manual mode;
/// Redis runs on the machine's time.
class SaleBackend {
 public:
  explicit SaleBackend(BackendKind kind) : kind_(kind) {
    if (kind == BackendKind::kRedis) server_ = std::make_unique<rushgate::testing::RedisServer>();
    if (kind == BackendKind::kMemory) {
      kept_ = std::make_unique<MemoryStore>(MemoryStoreOptions{.keep_state = true});
      database_ = std::make_unique<MemoryOrderStore>();
    }
    open();
  }

  /// As a process does that ends and is started again.
  void reopen() {
    close();
    open();
  }

  /// Keeps the keyspace as it is, for roll_back(). Not in memory. The embedded one is closed for
  /// it: call reopen().
  void save() {
    if (kind_ == BackendKind::kRedis) {
      EXPECT_EQ((*client_)("SAVE"), Reply::ok());
      return;
    }
    close();
    std::filesystem::copy(keyspace_dir(), saved_dir(), std::filesystem::copy_options::recursive);
  }
  /// Brings back the keyspace that was saved: as a Redis that is killed and started again from its
  /// dump, or as an old directory next to a newer database; call reopen() for that.
  void roll_back() {
    if (kind_ == BackendKind::kRedis) return server_->restart();
    close();
    std::filesystem::remove_all(keyspace_dir());
    std::filesystem::copy(saved_dir(), keyspace_dir(), std::filesystem::copy_options::recursive);
  }

  [[nodiscard]] BackendKind kind() const { return kind_; }
  [[nodiscard]] Backend& keyspace() { return *backend_; }
  /// The same, by a clock that is moved by hand on every backend: by it workers wait before they
  /// try again.
  [[nodiscard]] Backend& worker_keyspace() { return *worker_backend_; }
  /// To look at the keyspace.
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] faults::FaultyOrderStore& orders() { return *orders_; }
  /// Where the database is, unless it is in memory.
  [[nodiscard]] std::filesystem::path orders_file() const {
    return directory_.path() / "orders.db";
  }
  [[nodiscard]] const Clock& clock() const { return backend_->clock(); }
  /// Redis's own time can't be moved.
  [[nodiscard]] bool has_manual_clock() const { return engine_ != nullptr; }
  /// Sets the time of day alone. Where it can be moved.
  void set_now_ms(std::int64_t now_ms) { manual_clock_.set_now_ms(now_ms); }
  void advance_ms(std::int64_t duration_ms) {
    if (engine_ != nullptr) return engine_->advance_ms(duration_ms);
    manual_clock_.advance_ms(duration_ms);
  }

 private:
  void open() {
    if (kind_ != BackendKind::kMemory) {
      orders_.reset();
      database_.reset();
      auto database = SqliteOrderStore::open(orders_file());
      if (!database.ok()) throw std::runtime_error(database.status().ToString());
      database_ = *std::move(database);
    }
    orders_ = std::make_unique<faults::FaultyOrderStore>(*database_);
    if (kind_ == BackendKind::kRedis) {
      auto redis = RedisBackend::open(*RedisOptions::from_url(server_->url()));
      if (!redis.ok()) throw std::runtime_error(redis.status().ToString());
      backend_ = *std::move(redis);
    } else {
      auto engine = Engine::open(open_store(), {.manual_clock = &manual_clock_});
      if (!engine.ok()) throw std::runtime_error(engine.status().ToString());
      engine_ = engine->get();
      backend_ = *std::move(engine);
    }
    worker_backend_ = std::make_unique<BackendWithClock>(*backend_, manual_clock_);
    client_ = backend_->open_client();
  }

  void close() {
    client_.reset();
    engine_ = nullptr;
    backend_.reset();
  }

  std::unique_ptr<Store> open_store() {
    if (kind_ == BackendKind::kMemory) return std::make_unique<faults::FaultyStore>(*kept_);
    auto store = RocksDbStore::open(keyspace_dir());
    if (!store.ok()) throw std::runtime_error(store.status().ToString());
    return *std::move(store);
  }

  [[nodiscard]] std::filesystem::path keyspace_dir() const {
    return directory_.path() / "keyspace";
  }
  [[nodiscard]] std::filesystem::path saved_dir() const { return directory_.path() / "saved"; }

  const BackendKind kind_;
  TemporaryDirectory directory_;
  ManualClock manual_clock_;
  std::unique_ptr<rushgate::testing::RedisServer> server_;
  std::unique_ptr<MemoryStore> kept_;
  std::unique_ptr<OrderStore> database_;
  std::unique_ptr<faults::FaultyOrderStore> orders_;
  std::unique_ptr<Backend> backend_;
  Engine* engine_ = nullptr;  // the same, if it is embedded
  std::unique_ptr<Backend> worker_backend_;
  std::unique_ptr<Client> client_;
};

class SaleTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  SaleTest() { open(); }

  /// Voucher 1, as one does who began a rebuild some time ago, by the keyspace's time, in a process
  /// that uses the same run of the keyspace.
  void close_as_somebody(std::int64_t ago_ms) {
    Client& client = backend_.client();
    const Reply time = client("TIME");
    const std::int64_t now_ms = std::stoll(std::string(time.elements()[0].text())) * 1'000 +
                                std::stoll(std::string(time.elements()[1].text())) / 1'000;
    client("HSET", "seckill:voucher:1", "closed", "somebody:1", "closed_run",
           client.run(keyspace_run_script(), {}, {}).text(), "closed_at", now_ms - ago_ms);
  }

  void open() {
    worker_.reset();
    sale_.reset();
    auto sale = Sale::open(backend_.keyspace(), backend_.orders());
    if (!sale.ok()) throw std::runtime_error(sale.status().ToString());
    sale_ = *std::move(sale);
    worker_ = make_worker("c1");
  }
  void restart() {
    worker_.reset();
    sale_.reset();
    backend_.reopen();
    open();
  }

  std::unique_ptr<OrderWorker> make_worker(const std::string& consumer,
                                           WorkerOptions options = {}) {
    options.consumer = consumer;
    return std::make_unique<OrderWorker>(backend_.worker_keyspace(), backend_.orders(), SaleKeys{},
                                         options);
  }

  /// On sale for a day, from an hour ago.
  [[nodiscard]] Voucher voucher(VoucherId id, std::int64_t stock, Limits limits = {}) const {
    const std::int64_t now_ms = backend_.clock().now_ms();
    return {.id = id,
            .title = "voucher",
            .stock = stock,
            .begin_ms = now_ms - 3'600'000,
            .end_ms = now_ms + 86'400'000,
            .price_cents = 100,
            .limits = limits};
  }

  Outcome buy(VoucherId id, UserId user, std::string_view key = {}) {
    const BuyResult result = sale_->buy(id, user, key);
    EXPECT_TRUE(result.detail.empty()) << result.detail;
    return result.outcome;
  }

  /// Steps the worker until it has nothing to do, letting time pass for what it wants to try again.
  void drain(OrderWorker& worker, int retries_max = 20) {
    for (int retry = 0; retry < retries_max; ++retry) {
      bool is_done = true;
      while (true) {
        const OrderWorker::Step step = worker.step();
        is_done = is_done && step.faulted == 0 && step.kind != OrderWorker::Step::Kind::kPaused;
        if (step.kind != OrderWorker::Step::Kind::kWorked) break;
      }
      if (is_done) return;
      backend_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
  }
  void drain() { drain(*worker_); }

  void expect_audit_passes() {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  SaleBackend backend_{GetParam()};
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorker> worker_;
};

}  // namespace rushgate
