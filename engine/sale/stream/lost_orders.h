// Orders that the keyspace lost while a worker still had them in memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/model/order_entry.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

struct LostOrder {
  Order order;
  OrderEntry entry;         // as it was in the order stream
  std::string letter = {};  // the id of its dead letter without stock; empty if there is none
};

/// Returns the orders of `entries` that are neither in the order stream, nor stored, nor dead.
/// Leaves out entries that cannot be read as orders. May return an order that was retried
/// meanwhile, since its entry has another id.
absl::StatusOr<std::vector<LostOrder>> find_lost_orders(Client& client, OrderStore& orders,
                                                        const SaleKeys& keys,
                                                        std::span<const OrderEntry> entries);

}  // namespace rushgate
