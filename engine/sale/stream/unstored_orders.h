// Admitted orders that the database may not have yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "engine/sale/stream/queued_orders.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>

namespace rushgate {

struct UnstoredOrders {
  /// In the order stream. Some may be stored already and wait to be trimmed.
  std::vector<Order> queued;
  /// The entry of each in `queued`, where it is in the stream now. It is not Order::entry if the
  /// order was dead and retried. StreamId::max() if it was retried during this read.
  std::vector<StreamId> queued_as;
  /// Among the dead letters, discarded ones included.
  std::vector<Order> dead;
  /// Dead letters whose orders take no stock and are no buyer's, discarded ones included. They are
  /// in none of the others.
  std::vector<Order> without_stock;
  /// Those in `dead` that were discarded.
  absl::flat_hash_set<OrderId> discarded;
  /// Events of orders in the order stream, in its order. Some may be applied already.
  std::vector<OrderEvent> events;
  /// Events among the dead letters: the database refused them.
  std::vector<OrderEvent> dead_events;
  /// Events among the discarded letters: they are never applied.
  std::vector<OrderEvent> discarded_events;
  /// Entries of both streams that are neither, each with its stream, its id and the fault.
  std::vector<std::string> unreadable;
};

/// Reads both streams, of one voucher or of all. Of one, leaves out retained entries, up to which
/// everything is acknowledged: their orders are in the database. An order that moves between the streams meanwhile is
/// met at least once. A later read of the database finds an order that moves there.
///
/// Reads the whole backlog in bounded portions, and keeps only the requested orders. Entries that
/// are not orders belong to no voucher.
absl::StatusOr<UnstoredOrders> read_unstored_orders(Client& client, const SaleKeys& keys,
                                                    std::optional<VoucherId> voucher,
                                                    BetweenPortions between_portions = do_nothing);

/// Reads those whose idempotency keys are still their own at `time_ms`, and no events.
absl::StatusOr<UnstoredOrders> read_unstored_orders_with_keys(Client& client, const SaleKeys& keys,
                                                              std::int64_t time_ms);

/// Reads those of one user, and no events of the order stream. `queued` finds them there without
/// reading the backlog again.
absl::StatusOr<UnstoredOrders> read_unstored_orders_of(Client& client, const SaleKeys& keys,
                                                       QueuedOrders& queued, const UserId& user);

}  // namespace rushgate
