// Idempotency keys that a keyspace lost.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Returns true if the keyspace lost idempotency keys that are not restored. Asks only the keyspace.
absl::StatusOr<bool> are_requests_lost(Client& client, const SaleKeys& keys);

/// Restores the idempotency keys of all vouchers, also of archived ones, if the keyspace lost them
/// (SaleKeys::lost_requests()). No voucher is opened before. So a key is known to every voucher
/// whenever one of them sells.
///
/// Reads the streams and the stored orders with such keys, in portions. Of the streams, it keeps the
/// orders with living keys meanwhile. May be repeated, also by several processes at once. kAborted: the
/// keyspace lost them once more meanwhile. Other errors: of the store that failed.
absl::Status restore_lost_requests(Client& client, const SaleStores& stores, const SaleKeys& keys);

}  // namespace rushgate
