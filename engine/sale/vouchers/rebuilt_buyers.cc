#include "engine/sale/vouchers/rebuilt_buyers.h"

#include <algorithm>

#include "engine/core/base/concat.h"
#include "engine/sale/model/voucher_terms.h"

namespace rushgate {

void RebuiltBuyers::add(const Order& order, const Limits& limits) {
  add_key(order);
  note_used(order.id);
  const std::int64_t of_user = pieces_of_user(order);
  const std::int64_t of_stock = pieces_taken(order);
  taken += of_stock;
  given_back += std::max<std::int64_t>(of_user - of_stock, 0);
  withheld += std::max<std::int64_t>(of_stock - of_user, 0);
  if (order.status == OrderStatus::kUnpaid) unpaid.emplace(order.id, order);
  if (of_user == 0) return;
  Bought& buyer = bought[order.user];
  buyer.count += of_user;
  counted = counted || buyer.count > 1;
  const std::int64_t day = sale_day(order.admitted_at_ms, limits.utc_offset_minutes);
  if (day > buyer.day) buyer = {buyer.count, day, 0};
  if (day == buyer.day) buyer.on_day += of_user;
}

void RebuiltBuyers::note_used(OrderId id) {
  if (const auto user = waiting.find(id); user != waiting.end()) served.push_back(user->second);
}

void RebuiltBuyers::add_key(const Order& order) {
  if (order.idempotency_key.empty() || order.key_expires_at_ms < now_ms) return;
  Order& first = of_key.try_emplace(order.idempotency_key, order).first->second;
  if (order.entry < first.entry) first = order;
}

std::string RebuiltBuyers::find_excess(const Order& order, const Limits& limits,
                                       std::int64_t stock) const {
  const auto same_key = of_key.find(order.idempotency_key);
  if (same_key != of_key.end() && shares_key(same_key->second, order)) {
    return concat("its request was repeated: order ", same_key->second.id);
  }
  const std::int64_t room = limits.total > 0 ? std::min(limits.total, stock) : stock;
  if (taken > room - order.quantity) return "its stock was sold again";
  const auto found = bought.find(order.user);
  if (found == bought.end()) return {};
  const Bought& buyer = found->second;
  const bool is_same_day = buyer.day == sale_day(order.admitted_at_ms, limits.utc_offset_minutes);
  const bool is_above_limit = order.limit > 0 && buyer.count > order.limit - order.quantity;
  const bool is_above_day =
      limits.per_user_day > 0 && is_same_day && buyer.on_day > limits.per_user_day - order.quantity;
  return is_above_limit || is_above_day ? "its user bought again" : "";
}

}  // namespace rushgate
