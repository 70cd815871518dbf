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

namespace {

/// Adds the vouchers of a lane; if its server is away, without their stock. Returns that error then.
absl::Status add_summaries(Client& client, const SaleLane& lane,
                           std::vector<VoucherSummary>& summaries) {
  ASSIGN_OR_RETURN(auto versions, lane.stores.vouchers.all_applied());
  absl::Status away;
  for (VoucherVersion& version : versions) {
    VoucherSummary& summary = summaries.emplace_back(
        VoucherSummary{.voucher = version.voucher, .version = version.version});
    if (!away.ok()) continue;
    auto with_stock = summarize(client, lane.keys, std::move(version));
    if (with_stock.ok()) {
      summary = *std::move(with_stock);
    } else if (absl::IsUnavailable(with_stock.status())) {
      away = with_stock.status();
    } else {
      return with_stock.status();
    }
  }
  return away;
}

}  // namespace

absl::StatusOr<std::vector<VoucherSummary>> summarize_all(Client& client,
                                                          std::span<const SaleLane> lanes) {
  std::vector<VoucherSummary> summaries;
  absl::Status away;
  std::size_t lanes_read = 0;
  for (const SaleLane& lane : lanes) {
    absl::Status read = add_summaries(client, lane, summaries);
    if (!read.ok() && !absl::IsUnavailable(read)) return read;
    if (read.ok()) {
      ++lanes_read;
    } else {
      away = std::move(read);
    }
  }
  if (lanes_read == 0) return away;
  std::ranges::sort(summaries, {}, [](const VoucherSummary& one) { return one.voucher.id; });
  return summaries;
}

}  // namespace rushgate
