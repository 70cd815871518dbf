// Writing orders without a worker.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"

namespace rushgate {

/// Writes a batch as a worker does that has just read it. Vouchers that have no version get one
/// first, with stock for any number of orders.
inline absl::StatusOr<std::vector<OrderResult>> write_now(OrderStore& store,
                                                          std::span<const Order> orders) {
  constexpr std::int64_t kAmple = std::int64_t{1} << 40;
  for (const Order& order : orders) {
    const auto latest = store.latest(order.voucher);
    if (!latest.ok()) return latest.status();
    if (latest->has_value()) continue;
    const absl::Status recorded = store.record_pending(
        {.voucher = {.id = order.voucher, .stock = kAmple, .end_ms = 1}, .version = 1});
    if (!recorded.ok()) return recorded;
  }
  const auto state = store.state();
  if (!state.ok()) return state.status();
  return store.write(orders, {.epoch = state->epoch, .checkpoint = state->checkpoint});
}

}  // namespace rushgate
