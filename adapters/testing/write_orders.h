// Writing orders without a worker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/vouchers/voucher_store.h"

namespace rushgate {

/// Writes a batch as a worker does that has just read it, with stock for any number of orders. If the
/// store keeps the vouchers too, those without a version get one first.
inline absl::StatusOr<std::vector<OrderResult>> write_now(OrderStore& store,
                                                          std::span<const Order> orders) {
  constexpr std::int64_t kAmple = std::int64_t{1} << 40;
  const auto state = store.state();
  if (!state.ok()) return state.status();
  BatchFence fence{.epoch = state->epoch, .checkpoint = state->checkpoint};
  VoucherStore* const vouchers = store.vouchers();
  if (vouchers == nullptr) {
    fence.stock.emplace();
    for (const Order& order : orders) fence.stock->emplace(order.voucher, kAmple);
    return store.write(orders, fence);
  }
  for (const Order& order : orders) {
    const auto latest = vouchers->latest(order.voucher);
    if (!latest.ok()) return latest.status();
    if (latest->has_value()) continue;
    const absl::Status recorded = vouchers->record_pending(
        {.voucher = {.id = order.voucher, .stock = kAmple, .end_ms = 1}, .version = 1});
    if (!recorded.ok()) return recorded;
  }
  return store.write(orders, fence);
}

}  // namespace rushgate
