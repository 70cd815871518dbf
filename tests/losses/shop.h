// A sale in a rush: what is broken to see what it loses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/client/backend.h"
#include "engine/client/client.h"
#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "engine/store/store.h"
#include "engine/time/clock.h"
#include "storage/sqlite/sqlite_order_store.h"

namespace rushgate::losses {

/// One voucher, one for each user, and a worker that stores its orders in `orders.db` of the
/// directory. For one thread. Throws std::runtime_error.
class Shop {
 public:
  /// With the embedded engine, in the same directory.
  Shop(const std::filesystem::path& dir, Durability durability, std::int64_t stock);
  /// With the Redis at `redis_url`.
  Shop(const std::filesystem::path& dir, const std::string& redis_url, std::int64_t stock);

  using Accepted = absl::FunctionRef<void(OrderId)>;
  /// Buys for users that did not buy before, until nothing is left. Waits while the keyspace is
  /// away.
  void sell(Accepted accepted);

  /// Stores what is queued, and returns when nothing is.
  void drain();

  /// What is wrong in the end; empty if nothing is.
  std::string audit();

 private:
  void open(std::int64_t stock);

  UserId user_ = 0;  // the last one that bought; those of each process begin at another number
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorkerThread> worker_;
};

}  // namespace rushgate::losses
