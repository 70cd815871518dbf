// Admitted orders that the database may not have yet.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order.h"
#include "engine/sale/sale_keys.h"

namespace rushgate {

struct UnstoredOrders {
  std::vector<Order>
      queued;  // in the order stream; some may be stored already, and wait to be trimmed
  std::vector<Order> dead;  // among the dead letters
};

/// Reads both streams such that an order which moves from one to the other meanwhile is met at
/// least once; one that moves to the database is found there by whoever reads it afterwards. Of one
/// voucher, or of all; only those admitted up to entry `last`. Entries that are no orders are
/// passed over: they are the worker's to report.
absl::StatusOr<UnstoredOrders> read_unstored_orders(Client& client, const SaleKeys& keys,
                                                    std::optional<VoucherId> voucher,
                                                    StreamId last = StreamId::max());

}  // namespace rushgate
