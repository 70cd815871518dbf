#include "adapters/flash_sale/stored_records.h"

#include <cstddef>

#include "engine/core/base/status_macros.h"
#include <rushgate/order_status.h>

namespace rushgate {

absl::Status count_stored(OrderStore& orders, std::optional<VoucherId> voucher,
                          SaleCounts& counts) {
  const auto add = [&counts](OrderStatus status, std::int64_t count) {
    counts.stored += count;
    if (is_settled(status)) counts.paid += count;
    if (status == OrderStatus::kUnpaid) counts.holds += count;
  };
  if (voucher) {
    const OrderFilter filter{.voucher = voucher, .count_max = 10'000};
    return for_each_order(orders, filter, [&](const Order& order) { add(order.status, 1); });
  }
  ASSIGN_OR_RETURN(const auto by_status, orders.count_by_status());
  for (std::size_t i = 0; i < by_status.size(); ++i) add(kOrderStatuses[i], by_status[i]);
  return absl::OkStatus();
}

absl::StatusOr<bool> is_of(OrderStore& orders, OrderId order, std::optional<VoucherId> voucher) {
  if (!voucher) return true;
  ASSIGN_OR_RETURN(const auto found, orders.find(order));
  return found.has_value() && found->voucher == *voucher;
}

}  // namespace rushgate
