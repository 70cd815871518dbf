#include "apps/replay/order_check.h"

#include <fmt/format.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/order_entry.h"

namespace rushgate {

absl::StatusOr<OrderCheck> check_orders(std::span<const AcceptedRow> accepted, OrderStore& orders,
                                        std::span<const DeadLetter> dead_letters) {
  OrderCheck check;
  absl::flat_hash_map<OrderId, std::size_t> open;  // lines whose orders are not found yet
  for (const AcceptedRow& row : accepted) {
    const auto [known, is_new] = open.emplace(row.order, row.line);
    if (!is_new) {
      check.problems.push_back(
          fmt::format("lines {} and {} got the same order {}", known->second, row.line, row.order));
    }
  }

  OrderFilter filter{.user = {}, .voucher = {}, .status = {}, .after = 0, .count_max = 10'000};
  while (!open.empty()) {
    ASSIGN_OR_RETURN(const auto portion, orders.list(filter));
    for (const Order& order : portion) check.created += open.erase(order.id);
    if (portion.size() < filter.count_max) break;
    filter.after = portion.back().id;
  }
  for (const DeadLetter& letter : dead_letters) {
    const auto order = read_order(letter.order);
    if (order.ok()) check.dead += open.erase(order->id);
  }
  for (const AcceptedRow& row : accepted) {
    if (open.contains(row.order)) {
      check.problems.push_back(
          fmt::format("line {} was accepted as order {}, which is lost", row.line, row.order));
    }
  }
  return check;
}

}  // namespace rushgate
