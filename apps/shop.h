// One sale with everything it stands on: the only place where the rooms are wired together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/client/client.h"
#include "engine/executor/engine.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "engine/store/store.h"
#include "engine/time/clock.h"
#include "storage/rocksdb/directory_lock.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct ShopOptions {
  /// Holds `keyspace` (RocksDB; not with keyspace_url) and `orders.db` (SQLite). Not used with
  /// kMemory.
  std::filesystem::path dir;
  bool create = false;                      // the directory, if it is missing
  Durability durability = Durability::kOs;  // kMemory: nothing on disk, orders neither
  std::string keyspace_url;                 // open_backend()'s; if not empty: the keyspace is there
  int workers = 1;
  bool trim = true;                        // WorkerOptions::trim
  bool adopt = false;                      // SaleOptions::adopt
  std::shared_ptr<spdlog::logger> logger;  // may be null
};

/// Where in a sale's directory its keyspace is.
std::filesystem::path keyspace_in(const std::filesystem::path& dir);

/// Makes it with all above it, if it is missing.
absl::Status make_sale_directory(const std::filesystem::path& dir);

/// What the workers have yet to do.
struct Backlog {
  bool empty = false;        // everything that was accepted is stored, or a dead letter
  std::string pause_reason;  // why they make no progress; empty if they do
};

/// Thread-safe but for start_workers(), stop_workers() and the destructor.
class Shop {
 public:
  /// kNotFound: there is nothing in the directory, and create is off; kFailedPrecondition: another
  /// process (the text says who) holds it, which is_held_by_another() tells, or it belongs to
  /// something else.
  static absl::StatusOr<std::unique_ptr<Shop>> open(const ShopOptions& options);
  ~Shop();
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;

  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] OrderStore& orders() { return *orders_; }
  [[nodiscard]] const Clock& clock() const;
  [[nodiscard]] const SaleKeys& keys() const { return sale_->options().keys; }

  /// Not OK once the store has failed: only opening it again helps.
  [[nodiscard]] absl::Status health() const;

  absl::Status start_workers();
  /// Lets them end their batches.
  void stop_workers();
  absl::StatusOr<Backlog> backlog();
  /// By the workers, since they were started.
  [[nodiscard]] std::size_t stored() const;
  [[nodiscard]] std::size_t buried() const;

 private:
  explicit Shop(const ShopOptions& options) : options_(options) {}

  absl::Status open_rooms();
  absl::Status open_memory();
  absl::Status open_directory();
  absl::Status open_at_url();
  absl::Status open_orders();
  absl::Status open_engine(std::unique_ptr<Store> store);

  const ShopOptions options_;
  // Closed in the reverse order.
  std::optional<DirectoryLock> lock_;  // with keyspace_url: otherwise the store holds its directory
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::vector<std::unique_ptr<OrderWorkerThread>> workers_;
};

/// For a directory that another process holds: its orders, as far as they are stored.
absl::StatusOr<std::unique_ptr<OrderStore>> open_orders_to_read(const std::filesystem::path& dir);

}  // namespace rushgate
