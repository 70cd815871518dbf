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
/// Adds the counts of another lane of the same voucher. A count is missing where one of the two lacks it.
void add_summary(const VoucherSummary& lane, VoucherSummary& summary);
/// Adds the pieces that the lanes of a voucher on several do not have, as its total limit keeps them from being
/// sold. Once, after all lanes were added.
void add_unsold(VoucherSummary& summary);
/// As Sale::summaries().
absl::StatusOr<std::vector<VoucherSummary>> summarize_all(Client& client,
                                                          std::span<const SaleLane> lanes);

}  // namespace rushgate
