#include "adapters/flash_sale/stored_records.h"

#include <cstddef>

#include "engine/core/base/status_macros.h"
#include <rushgate/order_status.h>

namespace rushgate {

void add_stored(SaleCounts& counts, const OrderCounts& by_status) {
  for (std::size_t i = 0; i < by_status.size(); ++i) {
    counts.stored += by_status[i];
    if (is_settled(kOrderStatuses[i])) counts.paid += by_status[i];
    if (kOrderStatuses[i] == OrderStatus::kUnpaid) counts.holds += by_status[i];
  }
}

absl::StatusOr<bool> is_of(OrderStore& orders, OrderId order, std::optional<VoucherId> voucher) {
  if (!voucher) return true;
  ASSIGN_OR_RETURN(const auto found, orders.find(order));
  return found.has_value() && found->voucher == *voucher;
}

}  // namespace rushgate
