// Which vouchers are archived.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns the archived vouchers, in ascending order of ids; none if the store keeps no archive.
absl::StatusOr<std::vector<ArchivedVoucher>> read_archived(OrderStore& orders);

/// Returns true if the voucher is one of `archived`, which are as read_archived() returned them.
bool is_archived(std::span<const ArchivedVoucher> archived, VoucherId voucher);
/// Returns true if the sale of the voucher is archived. Its orders may still move.
absl::StatusOr<bool> is_archived(const SaleStores& stores, VoucherId voucher);

}  // namespace rushgate
