// Orders as they stand in the order stream and among the dead letters: what the admission script
// wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order.h"
#include "engine/sale/orders/portions.h"

namespace rushgate {

/// The entry under which an order was admitted, where it now stands under another: as a dead
/// letter, or retried.
inline constexpr std::string_view kEntryField = "entry";  // of a dead letter: the entry that it was
inline constexpr std::string_view kAdmittedField =
    "admitted";  // of a retried or restored order: its first entry
/// Of a dead letter: its order takes no stock and is no buyer's. The keyspace lost it, and sold its
/// stock again.
inline constexpr std::string_view kNoStockField = "no_stock";

/// One entry of a stream, as XRANGE and XREADGROUP give it.
struct OrderEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;
  bool deleted = false;  // XREADGROUP of history: the entry is gone, its id is still pending

  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
};

/// Nothing if `reply` is not [id, [field, value, …]] or [id, nil].
std::optional<OrderEntry> read_entry(const Reply& reply);

/// The order in an entry of the order stream or of the dead letters; Order::entry is the entry
/// under which it was admitted. Or, naming it, the field that is missing or makes no sense.
absl::StatusOr<Order> read_order(const OrderEntry& entry);

/// Visits every entry of a stream in (after, last], in ascending order and in bounded portions,
/// until `visit` returns false.
absl::Status for_each_entry(Client& client, std::string_view stream, StreamId after, StreamId last,
                            absl::FunctionRef<bool(const OrderEntry&)> visit,
                            BetweenPortions between_portions = do_nothing);

}  // namespace rushgate
