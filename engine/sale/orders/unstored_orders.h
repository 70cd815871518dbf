// Admitted orders that the database may not have yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "engine/base/stream_id.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order.h"
#include "engine/sale/orders/portions.h"
#include "engine/sale/sale_keys.h"

namespace rushgate {

struct UnstoredOrders {
  /// In the order stream; some may be stored already, and wait to be trimmed.
  std::vector<Order> queued;
  /// The entry of each in `queued`, under which it stands in the stream now: another than
  /// Order::entry if it was dead and retried. StreamId::max() where it was retried while we looked.
  std::vector<StreamId> queued_as;
  /// Among the dead letters, discarded ones included.
  std::vector<Order> dead;
  /// Dead letters whose orders take no stock and are no buyer's, discarded ones included. They are
  /// in none of the others.
  std::vector<Order> without_stock;
  /// Those in `dead` that were discarded.
  absl::flat_hash_set<OrderId> discarded;
  /// Entries of both that are no orders, each described with its stream, its id and what is wrong.
  std::vector<std::string> unreadable;
};

/// Reads both streams such that an order which moves from one to the other meanwhile is met at
/// least once; one that moves to the database is found there by whoever reads it afterwards. Of one
/// voucher, or of all; of one user, or of all. Reads the whole backlog in bounded portions and
/// keeps what it was asked for. Entries that are no orders belong to no voucher and to no user.
absl::StatusOr<UnstoredOrders> read_unstored_orders(Client& client, const SaleKeys& keys,
                                                    std::optional<VoucherId> voucher,
                                                    std::optional<UserId> user = {},
                                                    BetweenPortions between_portions = do_nothing);

}  // namespace rushgate
