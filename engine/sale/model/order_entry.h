// Orders as entries of the order stream and of the dead letters. The admission script writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/dead_letter.h>
#include <rushgate/order.h>
#include <rushgate/reply.h>

namespace rushgate {

/// Fields that name the entry under which an order was admitted, where its present entry is
/// another.
inline constexpr std::string_view kEntryField = "entry";  // of a dead letter: of its order
inline constexpr std::string_view kAdmittedField =
    "admitted";  // of a retried or restored order: its first entry
/// Of a dead letter: its order takes no stock and is no buyer's. The keyspace lost the order, and
/// sold its stock to another user.
inline constexpr std::string_view kNoStockField = "no_stock";
/// Of an event of an order that was admitted before: its kind (scripts/cancel.lua). Entries
/// without it are orders.
inline constexpr std::string_view kEventField = "event";

/// Of an event that began in the database, which had it before the order stream: its time.
inline constexpr std::string_view kAtField = "at";

/// Of an order that was bought with an idempotency key: the key, and the last millisecond in which it
/// is this order's.
inline constexpr std::string_view kKeyField = "request_key";
inline constexpr std::string_view kKeyUntilField = "request_until";

/// Returns nothing if `reply` is not [id, [field, value, …]] or [id, nil].
std::optional<OrderEntry> read_entry(const Reply& reply);

/// Returns the order in an entry of the order stream or of the dead letters. Order::entry is the
/// entry under which it was admitted. An error names the field that is missing or invalid.
absl::StatusOr<Order> read_order(const OrderEntry& entry);

/// Returns true if the entry is an event of an order that was admitted before.
inline bool is_event(const OrderEntry& entry) { return entry.field(kEventField).has_value(); }

/// Returns the event in an entry of the order stream; an order is one that was admitted. Errors: as
/// read_order().
absl::StatusOr<OrderEvent> read_event(const OrderEntry& entry);

/// The things that an order keeps after its end, as a number: 1 the stock, 2 the allowance, 3 both.
constexpr std::int64_t keeps_of(bool stock, bool allowance) {
  return (stock ? 1 : 0) + (allowance ? 2 : 0);
}
inline void set_keeps(std::int64_t keeps, Order& order) {
  order.keeps_stock = (keeps & 1) != 0;
  order.keeps_allowance = (keeps & 2) != 0;
}

}  // namespace rushgate
