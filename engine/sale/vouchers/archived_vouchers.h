// Which vouchers are archived.
#pragma once

#include "absl/status/statusor.h"
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns true if the sale of the voucher is archived. Its orders may still move.
absl::StatusOr<bool> is_archived(const SaleStores& stores, VoucherId voucher);

}  // namespace rushgate
