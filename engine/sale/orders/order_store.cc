#include "engine/sale/orders/order_store.h"

namespace rushgate {

absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit) {
  while (true) {
    const auto portion = store.list(filter);
    if (!portion.ok()) return portion.status();
    for (const Order& order : *portion) visit(order);
    if (portion->empty() || portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
  }
}

}  // namespace rushgate
