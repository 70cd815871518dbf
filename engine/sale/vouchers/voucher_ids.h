// The vouchers that the keyspace knows.
#pragma once

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns the ids in SaleKeys::vouchers(). Sends one request.
absl::StatusOr<absl::btree_set<VoucherId>> read_voucher_ids(Client& client, const SaleKeys& keys);

}  // namespace rushgate
