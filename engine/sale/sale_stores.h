// The order database and the voucher versions of a sale.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/vouchers/voucher_store.h"

namespace rushgate {

/// The two stores of a sale, which must outlive it. Converts from an order store that keeps the
/// vouchers too (OrderStore::vouchers()). With one that does not, each use of the vouchers returns
/// kFailedPrecondition.
struct SaleStores {
  SaleStores(OrderStore& both);  // NOLINT(google-explicit-constructor)
  SaleStores(OrderStore& order_store, VoucherStore& voucher_store)
      : orders(order_store), vouchers(voucher_store) {}

  /// Calls OrderStore::write(). If the vouchers are elsewhere, reads their stock for it first. The
  /// batch must have been read from the keyspace before: then each of its orders was admitted under a
  /// version that is recorded by now.
  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> batch,
                                                 BatchFence fence) const;

  OrderStore& orders;
  VoucherStore& vouchers;
};

}  // namespace rushgate
