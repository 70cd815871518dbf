// Which vouchers are archived.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns the archived vouchers, in ascending order of ids; none if the store keeps no archive.
inline absl::StatusOr<std::vector<ArchivedVoucher>> read_archived(OrderStore& orders) {
  if (orders.archive() == nullptr) return std::vector<ArchivedVoucher>{};
  return orders.archive()->archived_vouchers();
}

/// Returns an archived voucher; empty if it is not archived. Its orders may still move.
inline absl::StatusOr<std::optional<ArchivedVoucher>> find_archived(const SaleStores& stores,
                                                                    VoucherId voucher) {
  auto archived = read_archived(stores.orders);
  if (!archived.ok()) return archived.status();
  for (ArchivedVoucher& one : *archived) {
    if (one.last.voucher.id == voucher) return std::move(one);
  }
  return std::nullopt;
}

/// Returns true if the voucher is one of `archived`, which are as read_archived() returned them.
inline bool is_archived(std::span<const ArchivedVoucher> archived, VoucherId voucher) {
  const auto id_of = [](const ArchivedVoucher& one) { return one.last.voucher.id; };
  return std::ranges::binary_search(archived, voucher, {}, id_of);
}
/// Returns true if the sale of the voucher is archived. Its orders may still move.
inline absl::StatusOr<bool> is_archived(const SaleStores& stores, VoucherId voucher) {
  const auto archived = read_archived(stores.orders);
  if (!archived.ok()) return archived.status();
  return is_archived(*archived, voucher);
}

}  // namespace rushgate
