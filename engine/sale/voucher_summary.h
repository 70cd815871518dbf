// Vouchers with the counts of the keyspace.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// As Sale::summary().
absl::StatusOr<VoucherSummary> summarize(Client& client, const SaleKeys& keys,
                                         VoucherVersion version);
/// As Sale::summaries().
absl::StatusOr<std::vector<VoucherSummary>> summarize_all(Client& client,
                                                          std::span<const SaleLane> lanes);

}  // namespace rushgate
