#include "tests/simulation/promises.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"
#include <rushgate/order_rules.h>

namespace rushgate::testing {

Promises::Promises(int lanes, OrderStore& orders, Blame blame)
    : orders_(orders), blame_(std::move(blame)), losses_(static_cast<std::size_t>(lanes)) {}

// ---- Lanes ------------------------------------------------------------------------------------

void Promises::note_start(int lane, Comeback comeback) {
  for (auto& [id, order] : accepted_) {
    if (lane_of_order(id) != lane) continue;
    if (comeback == Comeback::kWithAll) order.is_replicated = true;
    if (comeback == Comeback::kEmpty) order.is_replicated = false;
    const bool is_lost = !order.is_replicated && !orders_.find(id).value().has_value();
    order.may_be_lost = order.may_be_lost || is_lost;
  }
  for (auto& [token, spent] : spent_tokens_) {
    if (spent.lane != lane) continue;
    spent.is_back = spent.is_back || (comeback == Comeback::kAsReplicated && spent.may_come_back);
    if (comeback != Comeback::kAsReplicated) spent.may_come_back = false;
  }
  if (comeback != Comeback::kWithAll) ++losses_[static_cast<std::size_t>(lane)];
}

void Promises::note_replicated(int lane) { note_replica(lane, true); }
void Promises::note_moved(int lane) { note_replica(lane, false); }

/// Notes that the replica of a lane's master has everything of it, or nothing: no token that was spent since.
void Promises::note_replica(int lane, bool has_all) {
  for (auto& [id, order] : accepted_) {
    if (lane_of_order(id) == lane) order.is_replicated = has_all;
  }
  for (auto& [token, spent] : spent_tokens_) {
    if (spent.lane == lane) spent.may_come_back = false;
  }
}

std::size_t Promises::lane_of(OrderId order) {
  return static_cast<std::size_t>(lane_of_order(order));
}

bool Promises::has_lost_since(OrderId order, const Losses& before) const {
  return losses_[lane_of(order)] != before[lane_of(order)];
}

// ---- Buyers -----------------------------------------------------------------------------------

void Promises::note_result(const BuyRequest& request, const BuyResult& result,
                           const Losses& before) {
  const bool is_accepted = result.outcome == Outcome::kAccepted;
  const bool has_key = !request.idempotency_key.empty();
  if (has_key && (is_accepted || result.outcome == Outcome::kOutcomeUnknown)) {
    // What was decided before a loss says nothing of what is true after it.
    const bool is_known = is_accepted && !has_lost_since(result.order, before);
    note_key(request, is_known ? result.order : 0);
  }
  if (!is_accepted) return;
  if (!result.is_repeated) note_token(request, result.order, before);
  note_accepted(request, result.order, before);
}

void Promises::note_accepted(const BuyRequest& request, OrderId order, const Losses& before) {
  const auto [accepted, is_new] = accepted_.try_emplace(order, AcceptedOrder{.request = request});
  if (!is_new || !has_lost_since(order, before)) return;
  accepted->second.may_be_lost = !orders_.find(order).value().has_value();
}

/// A key stands for one order.
void Promises::note_key(const BuyRequest& request, OrderId order) {
  Keyed& known =
      keyed_.try_emplace(request.idempotency_key, Keyed{.request = request}).first->second;
  if (order == 0) return;
  const bool is_other = known.order != 0 && known.order != order;
  if (is_other && !may_be_lost(known.order)) {
    blame_(concat("the key ", request.idempotency_key, " got order ", known.order, ", and then ",
                  order));
  }
  known.order = order;
}

/// A token buys once, unless a replica that had it before it was spent has taken over.
void Promises::note_token(const BuyRequest& request, OrderId order, const Losses& before) {
  if (request.purchase_token.empty()) return;
  const auto [spent, is_new] = spent_tokens_.try_emplace(request.purchase_token);
  if (!is_new && !spent->second.is_back) {
    blame_(concat("order ", order, " was bought with a token that was spent"));
  }
  spent->second = {.lane = lane_of_order(order), .is_back = has_lost_since(order, before)};
}

std::optional<BuyRequest> Promises::choose_repeatable(Random& random) const {
  std::vector<const Keyed*> unknown;
  for (const auto& [key, keyed] : keyed_) {
    if (keyed.order == 0) unknown.push_back(&keyed);
  }
  if (!unknown.empty() && random.chance(80)) return random.pick(unknown)->request;
  if (keyed_.empty()) return std::nullopt;
  return std::next(keyed_.begin(), static_cast<std::ptrdiff_t>(random.below(keyed_.size())))
      ->second.request;
}

OrderId Promises::choose_order(Random& random) const {
  return std::next(accepted_.begin(), static_cast<std::ptrdiff_t>(random.below(accepted_.size())))
      ->first;
}

bool Promises::may_be_lost(OrderId order) const {
  const auto found = accepted_.find(order);
  return found != accepted_.end() && found->second.may_be_lost;
}

// ---- The end ----------------------------------------------------------------------------------

void Promises::repeat_all(Sale& sale) {
  const std::map<std::string, Keyed> keyed = keyed_;
  for (const auto& [key, known] : keyed) {
    const BuyResult result = sale.buy(known.request);
    note_result(known.request, result, losses_);
    const bool is_known = known.order != 0 && !may_be_lost(known.order);
    if (is_known && result.outcome != Outcome::kAccepted) {
      blame_(concat("the key ", key, " of order ", known.order, " gets ",
                    outcome_name(result.outcome), " ", result.detail));
    }
  }
}

void Promises::check_stored(Sale& sale) const {
  for (const auto& [id, order] : accepted_) {
    const auto status = sale.status(id);
    if (!status.ok()) {
      blame_(concat("order ", id, ": ", status.status().message()));
    } else if (status->location != OrderLocation::kStored && !order.may_be_lost) {
      blame_(concat("order ", id, " was accepted, and is ", order_location_name(status->location)));
    }
  }
}

void Promises::check_recorded(VoucherId voucher) const {
  for (const auto& [id, order] : accepted_) {
    if (order.request.voucher != voucher || order.may_be_lost) continue;
    if (orders_.find(id).value().has_value()) continue;
    blame_(concat("voucher ", voucher, " is archived, and its order ", id, " is not recorded"));
  }
}

}  // namespace rushgate::testing
