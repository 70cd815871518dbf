#include "tests/unit/sale/sale_backends.h"

#include <ostream>
#include <stdexcept>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/redis_server/lent_redis_server.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_cluster.h"
#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

template <class T>
T opened(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

// ---- The embedded engine ----

class EmbeddedKeyspace : public TestKeyspace {
 public:
  EmbeddedKeyspace(ManualClock* clock, EngineOptions::Policy policy)
      : clock_(clock), policy_(policy) {}

  std::unique_ptr<Backend> open() override {
    return opened(Engine::open(open_store(), {.policy = policy_, .manual_clock = clock_}));
  }
  std::unique_ptr<Backend> open_another(Backend& opened) override {
    return std::make_unique<ForwardingBackend>(opened);
  }
  void advance_ms(Backend& opened, std::int64_t duration_ms) override {
    dynamic_cast<Engine&>(opened).advance_ms(duration_ms);
  }
  void set_now_ms(std::int64_t now_ms) override { clock_->set_now_ms(now_ms); }

 private:
  virtual std::unique_ptr<Store> open_store() = 0;

  ManualClock* const clock_;
  const EngineOptions::Policy policy_;
};

class MemoryKeyspace final : public EmbeddedKeyspace {
 public:
  using EmbeddedKeyspace::EmbeddedKeyspace;

  void save() override { throw std::logic_error("a keyspace in memory has no older state"); }
  void roll_back() override { save(); }

 private:
  std::unique_ptr<Store> open_store() override {
    return std::make_unique<faults::FaultyStore>(kept_);
  }

  MemoryStore kept_{{.keep_state = true}};
};

class RocksDbKeyspace final : public EmbeddedKeyspace {
 public:
  RocksDbKeyspace(const fs::path& dir, ManualClock* clock)
      : EmbeddedKeyspace(clock, EngineOptions::Policy::kCallers),
        files_(dir / "keyspace"),
        saved_(dir / "saved") {}

  void save() override { fs::copy(files_, saved_, fs::copy_options::recursive); }
  void roll_back() override {
    fs::remove_all(files_);
    fs::copy(saved_, files_, fs::copy_options::recursive);
  }

 private:
  std::unique_ptr<Store> open_store() override { return opened(RocksDbStore::open(files_)); }

  const fs::path files_;
  const fs::path saved_;
};

std::unique_ptr<TestKeyspace> make_memory(const fs::path& /*dir*/, ManualClock* clock) {
  return std::make_unique<MemoryKeyspace>(clock, EngineOptions::Policy::kCallers);
}
std::unique_ptr<TestKeyspace> make_service_thread(const fs::path& /*dir*/, ManualClock* clock) {
  return std::make_unique<MemoryKeyspace>(clock, EngineOptions::Policy::kServiceThreadOnly);
}
std::unique_ptr<TestKeyspace> make_rocksdb(const fs::path& dir, ManualClock* clock) {
  return std::make_unique<RocksDbKeyspace>(dir, clock);
}

// ---- A redis-server ----

class RedisKeyspace final : public TestKeyspace {
 public:
  explicit RedisKeyspace(ManualClock* clock)
      : clock_(clock), server_(clock != nullptr ? Lent::Time::kManual : Lent::Time::kReal) {}

  std::unique_ptr<Backend> open() override {
    return opened(RedisBackend::open(*RedisOptions::from_url(server_->url())));
  }
  std::unique_ptr<Backend> open_another(Backend& /*opened*/) override { return open(); }

  void save() override {
    server_.keep();
    const Reply saved = testing::RawConnection(server_->socket_path()).call(Request::of("SAVE"));
    if (saved != Reply::ok()) throw std::runtime_error(to_debug_string(saved));
  }
  void roll_back() override { server_->restart(); }

  void advance_ms(Backend& /*opened*/, std::int64_t duration_ms) override {
    clock_->advance_ms(duration_ms);
    server_->set_now_ms(clock_->now_ms());
  }
  void set_now_ms(std::int64_t now_ms) override {
    clock_->set_now_ms(now_ms);
    server_->set_now_ms(now_ms);
  }

 private:
  using Lent = testing::LentRedisServer;

  ManualClock* const clock_;
  Lent server_;
};

std::unique_ptr<TestKeyspace> make_redis(const fs::path& /*dir*/, ManualClock* clock) {
  return std::make_unique<RedisKeyspace>(clock);
}

// ---- A cluster ----

class ClusterKeyspace final : public TestKeyspace {
 public:
  explicit ClusterKeyspace(ManualClock* clock) : clock_(clock) {
    cluster().set_now_ms(clock->now_ms());
    cluster().flush_all();
  }

  std::unique_ptr<Backend> open() override {
    return opened(RedisBackend::open(*RedisOptions::from_url(cluster().url())));
  }
  std::unique_ptr<Backend> open_another(Backend& /*opened*/) override { return open(); }

  void save() override { throw std::logic_error("the nodes of a cluster have no common state"); }
  void roll_back() override { save(); }

  void advance_ms(Backend& /*opened*/, std::int64_t duration_ms) override {
    clock_->advance_ms(duration_ms);
    cluster().set_now_ms(clock_->now_ms());
  }
  void set_now_ms(std::int64_t now_ms) override {
    clock_->set_now_ms(now_ms);
    cluster().set_now_ms(now_ms);
  }

 private:
  /// Starting one takes longer than all tests.
  static testing::RedisCluster& cluster() {
    static testing::RedisCluster shared({.replicas = 0, .manual_clock = true});
    return shared;
  }

  ManualClock* const clock_;
};

std::unique_ptr<TestKeyspace> make_cluster(const fs::path& /*dir*/, ManualClock* clock) {
  return std::make_unique<ClusterKeyspace>(clock);
}

// ---- Order databases ----

std::unique_ptr<OrderStore> orders_in_memory(const fs::path& /*file*/) {
  return std::make_unique<MemoryOrderStore>();
}
std::unique_ptr<OrderStore> orders_in_sqlite(const fs::path& file) {
  return opened(SqliteOrderStore::open(file));
}

/// With two lanes. The vouchers of all suites but those of lanes are on the first one, so they find the
/// keys where they are without lanes.
std::unique_ptr<OrderStore> orders_in_lanes(const fs::path& /*file*/) {
  constexpr VoucherId kVouchers = 2'000;
  auto orders = std::make_unique<MemoryOrderStore>();
  bool is_done = orders->add_lanes(2).ok();
  for (VoucherId id = -1; id < kVouchers; ++id) is_done &= orders->put_on_lane(id, 0).ok();
  if (!is_done) throw std::runtime_error("no lanes");
  return orders;
}

// ---- The list ----

constexpr SaleBackendKind kSaleBackends[] = {
    {.name = "Memory",
     .make_keyspace = make_memory,
     .open_orders = orders_in_memory,
     .keeps_orders_in_file = false,
     .is_server = false,
     .can_roll_back = false},
    // The executing thread differs only in tests with threads.
    {.name = "ServiceThread",
     .make_keyspace = make_service_thread,
     .open_orders = orders_in_memory,
     .keeps_orders_in_file = false,
     .is_server = false,
     .can_roll_back = false,
     .has_manual_time = false},
    {.name = "Lanes",
     .make_keyspace = make_memory,
     .open_orders = orders_in_lanes,
     .keeps_orders_in_file = false,
     .is_server = false,
     .can_roll_back = false,
     .has_lanes = true},
    {.name = "RocksDb",
     .make_keyspace = make_rocksdb,
     .open_orders = orders_in_sqlite,
     .keeps_orders_in_file = true,
     .is_server = false,
     .can_roll_back = true},
    {.name = "Redis",
     .make_keyspace = make_redis,
     .open_orders = orders_in_sqlite,
     .keeps_orders_in_file = true,
     .is_server = true,
     .can_roll_back = true},
};

constexpr SaleBackendKind kCluster = {.name = "Cluster",
                                      .make_keyspace = make_cluster,
                                      .open_orders = orders_in_sqlite,
                                      .keeps_orders_in_file = true,
                                      .is_server = true,
                                      .can_roll_back = false,
                                      .is_cluster = true};

}  // namespace

SaleBackendParam cluster_backend() { return &kCluster; }

std::vector<SaleBackendParam> sale_backends(
    TestTime time, absl::FunctionRef<bool(const SaleBackendKind&)> is_wanted) {
  std::vector<SaleBackendParam> found;
  for (const SaleBackendKind& kind : kSaleBackends) {
    if (time == TestTime::kManual && !kind.has_manual_time) continue;
    if (is_wanted(kind)) found.push_back(&kind);
  }
  return found;
}

void PrintTo(const SaleBackendKind* kind, std::ostream* out) { *out << kind->name; }

}  // namespace rushgate
