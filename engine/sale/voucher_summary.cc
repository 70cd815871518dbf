#include "engine/sale/voucher_summary.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/sale/audit/audit_snapshot.h"

namespace rushgate {

absl::StatusOr<VoucherSummary> summarize(Client& client, const SaleKeys& keys,
                                         VoucherVersion version) {
  ASSIGN_OR_RETURN(const auto counters, read_voucher_counters(client, keys, version.voucher.id));
  VoucherSummary summary{.voucher = std::move(version.voucher), .version = version.version};
  if (!counters.published || !counters.stock) return summary;
  summary.free = *counters.stock;
  summary.admitted = *counters.published - *counters.stock + counters.given_back;
  return summary;
}

absl::StatusOr<std::vector<VoucherSummary>> summarize_all(Client& client,
                                                          std::span<const SaleLane> lanes) {
  std::vector<VoucherSummary> summaries;
  for (const SaleLane& lane : lanes) {
    ASSIGN_OR_RETURN(auto versions, lane.stores.vouchers.all_applied());
    for (VoucherVersion& version : versions) {
      ASSIGN_OR_RETURN(auto summary, summarize(client, lane.keys, std::move(version)));
      summaries.push_back(std::move(summary));
    }
  }
  std::ranges::sort(summaries, {}, [](const VoucherSummary& one) { return one.voucher.id; });
  return summaries;
}

}  // namespace rushgate
