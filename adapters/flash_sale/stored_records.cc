#include "adapters/flash_sale/stored_records.h"

#include "engine/core/base/status_macros.h"
#include <rushgate/order_status.h>

namespace rushgate {

absl::Status count_stored(OrderStore& orders, std::optional<VoucherId> voucher,
                          SaleCounts& counts) {
  const OrderFilter filter{.voucher = voucher, .count_max = 10'000};
  return for_each_order(orders, filter, [&](const Order& order) {
    ++counts.stored;
    if (is_settled(order.status)) ++counts.paid;
    if (order.status == OrderStatus::kUnpaid) ++counts.holds;
  });
}

absl::StatusOr<bool> is_of(OrderStore& orders, OrderId order, std::optional<VoucherId> voucher) {
  if (!voucher) return true;
  ASSIGN_OR_RETURN(const auto found, orders.find(order));
  return found.has_value() && found->voucher == *voucher;
}

}  // namespace rushgate
