// A rush on a sale, which a fault interrupts to measure the losses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>
#include <rushgate/store.h>

namespace rushgate::losses {

/// One voucher, one per user, and a worker that stores orders in `orders.db` in the directory. Not
/// thread-safe. Throws std::runtime_error.
class Shop {
 public:
  /// Uses the embedded engine, in the same directory.
  Shop(const std::filesystem::path& dir, Durability durability, std::int64_t stock);
  /// Uses the Redis at `redis_url`.
  Shop(const std::filesystem::path& dir, const std::string& redis_url, std::int64_t stock,
       SaleKeys keys = {});

  using Accepted = absl::FunctionRef<void(OrderId)>;
  /// Buys for new users until the stock is empty. Waits while the keyspace is unavailable.
  void sell(Accepted accepted);

  /// Stores all queued orders, then returns.
  void drain();

  /// Returns the problems at the end; empty if there are none.
  std::string audit();

 private:
  void open(std::int64_t stock);

  const SaleKeys keys_ = {};
  std::int64_t user_ = 0;  // the last user that bought; each process begins at another number
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorkerThread> worker_;
};

}  // namespace rushgate::losses
