// What the HTTP server and the rushgate command read of an order database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// The counts of a sale's orders and pieces at one moment.
struct SaleCounts {
  std::int64_t stock = 0;   // free pieces
  std::int64_t holds = 0;   // unpaid orders
  std::int64_t paid = 0;    // paid orders, used ones included
  std::int64_t stored = 0;  // orders in the database, in any state
  std::int64_t age_ms = 0;  // since the orders were counted
};

/// Adds stored orders. Leaves the stock as it is.
void add_stored(SaleCounts& counts, const OrderCounts& by_status);

/// Returns true if the order is of the voucher, or if none is given. Payments and changes of orders do
/// not name their voucher.
absl::StatusOr<bool> is_of(OrderStore& orders, OrderId order, std::optional<VoucherId> voucher);

/// Returns those payments or changes whose order is of the voucher; all if none is given.
template <class Record>
absl::StatusOr<std::vector<Record>> those_of(OrderStore& orders, std::vector<Record> records,
                                             std::optional<VoucherId> voucher) {
  absl::Status status;
  std::erase_if(records, [&](const Record& record) {
    if (!status.ok()) return true;
    const auto is_wanted = is_of(orders, record.order, voucher);
    if (!is_wanted.ok()) status = is_wanted.status();
    return !is_wanted.ok() || !*is_wanted;
  });
  if (!status.ok()) return status;
  return records;
}

}  // namespace rushgate
