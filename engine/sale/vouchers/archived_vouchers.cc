#include "engine/sale/vouchers/archived_vouchers.h"

#include <algorithm>

#include <rushgate/archive_store.h>

namespace rushgate {

absl::StatusOr<bool> is_archived(const SaleStores& stores, VoucherId voucher) {
  if (stores.orders.archive() == nullptr) return false;
  const auto archived = stores.orders.archive()->archived_vouchers();
  if (!archived.ok()) return archived.status();
  return std::ranges::any_of(
      *archived, [voucher](const ArchivedVoucher& one) { return one.last.voucher.id == voucher; });
}

}  // namespace rushgate
