// Where an accepted order is: in the order stream, in the database, or among the dead letters.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/stream/queued_orders.h"
#include <rushgate/client.h>
#include <rushgate/order.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Thread-safe. Does not own its arguments, which must outlive it.
class OrderLookup {
 public:
  OrderLookup(Client& client, const SaleStores& stores, const SaleKeys& keys, QueuedOrders& queued)
      : client_(client), stores_(stores), keys_(keys), queued_(queued) {}

  /// As Sale::status().
  absl::StatusOr<OrderState> find(OrderId order);
  /// As Sale::orders_of().
  absl::StatusOr<std::vector<OrderState>> list(const UserId& user);

 private:
  absl::StatusOr<std::optional<OrderState>> final_state(OrderId order);
  absl::StatusOr<std::optional<OrderState>> state_of_queued(const Order& order, StreamId entry);

  Client& client_;
  const SaleStores stores_;
  const SaleKeys keys_;
  QueuedOrders& queued_;
};

}  // namespace rushgate
