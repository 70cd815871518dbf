#include "engine/sale/orders/order_lookup.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"

namespace rushgate {

absl::StatusOr<OrderState> OrderLookup::find(OrderId order) {
  // An order moves from the stream to the database or to the dead letters, and from there back to
  // the stream. So the stream is read first, and then its destinations. That misses only an order
  // that was retried in between: hence two looks.
  constexpr int kLooks = 2;
  for (int look = 0; look < kLooks; ++look) {
    ASSIGN_OR_RETURN(auto found, final_state(order));
    if (found.has_value()) return *std::move(found);
    ASSIGN_OR_RETURN(const auto queued, queued_.contains(order));
    if (queued) return OrderState{.location = OrderLocation::kQueued};
  }
  ASSIGN_OR_RETURN(auto found, final_state(order));
  return found.has_value() ? *std::move(found) : OrderState{};
}

absl::StatusOr<std::optional<OrderState>> OrderLookup::final_state(OrderId order) {
  ASSIGN_OR_RETURN(const auto stored, stores_.orders.find(order));
  if (stored.has_value()) return OrderState{.location = OrderLocation::kStored, .order = *stored};
  ASSIGN_OR_RETURN(const auto letter, find_dead_letter(client_, keys_, order));
  if (!letter.has_value()) return std::nullopt;
  return OrderState{.location = OrderLocation::kDeadLetter, .order = {}, .reason = letter->reason};
}

/// Returns the state of an order in the stream that the lists of the database did not have. Empty if
/// its sale is archived, or it was deleted: a stream that is not trimmed keeps its entry.
absl::StatusOr<std::optional<OrderState>> OrderLookup::state_of_queued(const Order& order,
                                                                       StreamId entry) {
  ASSIGN_OR_RETURN(const auto acknowledged, is_acknowledged(client_, keys_, entry));
  if (!acknowledged) {
    return OrderState{.location = OrderLocation::kQueued, .order = order};
  }
  ASSIGN_OR_RETURN(const auto archived, is_archived(stores_, order.voucher));
  if (archived) return std::nullopt;
  const auto stored = stores_.orders.find(order.id);  // it was stored after the lists were read
  if (!stored.ok()) return stored.status();
  if (!stored->has_value()) return std::nullopt;
  return OrderState{.location = OrderLocation::kStored, .order = **stored};
}

absl::StatusOr<std::vector<OrderState>> OrderLookup::list(const UserId& user) {
  // The streams first: an order that moves to the database meanwhile is found there.
  ASSIGN_OR_RETURN(auto unstored, read_unstored_orders_of(client_, keys_, queued_, user));
  std::vector<OrderState> states;
  absl::flat_hash_set<OrderId> met;
  const auto add = [&](OrderLocation location, const Order& order) {
    if (met.insert(order.id).second) states.push_back({.location = location, .order = order});
  };
  const absl::Status read = for_each_order(stores_.orders, {.user = user}, [&](const Order& order) {
    add(OrderLocation::kStored, order);
  });
  if (!read.ok()) return read;
  auto& failed = unstored.dead;
  failed.insert(failed.end(), unstored.without_stock.begin(), unstored.without_stock.end());
  absl::flat_hash_set<OrderId> dead;
  for (const Order& order : failed) dead.insert(order.id);
  for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
    const Order& order = unstored.queued[i];
    if (dead.contains(order.id) || met.contains(order.id)) continue;
    ASSIGN_OR_RETURN(const auto state, state_of_queued(order, unstored.queued_as[i]));
    if (state.has_value()) add(state->location, *state->order);
  }
  for (const Order& order : failed) {
    if (met.contains(order.id)) continue;
    ASSIGN_OR_RETURN(const auto letter, find_dead_letter(client_, keys_, order.id));
    // A letter that is gone was retried during this call.
    add(letter.has_value() ? OrderLocation::kDeadLetter : OrderLocation::kQueued, order);
    if (letter.has_value()) states.back().reason = letter->reason;
  }
  return states;
}

}  // namespace rushgate
