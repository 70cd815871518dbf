#include "engine/sale/stores/archived_vouchers.h"

#include <algorithm>

namespace rushgate {

absl::StatusOr<std::vector<ArchivedVoucher>> read_archived(OrderStore& orders) {
  if (orders.archive() == nullptr) return std::vector<ArchivedVoucher>{};
  return orders.archive()->archived_vouchers();
}

bool is_archived(std::span<const ArchivedVoucher> archived, VoucherId voucher) {
  const auto id_of = [](const ArchivedVoucher& one) { return one.last.voucher.id; };
  return std::ranges::binary_search(archived, voucher, {}, id_of);
}

absl::StatusOr<bool> is_archived(const SaleStores& stores, VoucherId voucher) {
  const auto archived = read_archived(stores.orders);
  if (!archived.ok()) return archived.status();
  return is_archived(*archived, voucher);
}

}  // namespace rushgate
