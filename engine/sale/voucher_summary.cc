#include "engine/sale/voucher_summary.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/sale/audit/audit_snapshot.h"
#include <rushgate/order_rules.h>

namespace rushgate {

absl::StatusOr<VoucherSummary> summarize(Client& client, const SaleKeys& keys,
                                         VoucherVersion version) {
  ASSIGN_OR_RETURN(const auto counters, read_voucher_counters(client, keys, version.voucher.id));
  VoucherSummary summary{.voucher = std::move(version.voucher), .version = version.version};
  if (!counters.published || !counters.stock) return summary;
  summary.free = *counters.stock;
  summary.admitted = *counters.published + counters.moved - *counters.stock + counters.given_back;
  return summary;
}

void add_summary(const VoucherSummary& lane, VoucherSummary& summary) {
  const auto add = [](std::optional<std::int64_t> count, std::optional<std::int64_t>& sum) {
    sum = count && sum ? std::optional(*count + *sum) : std::nullopt;
  };
  add(lane.free, summary.free);
  add(lane.admitted, summary.admitted);
}

void add_unsold(VoucherSummary& summary) {
  const bool is_divided = summary.voucher.lanes > 1 && summary.free;
  if (is_divided) *summary.free += summary.voucher.stock - pieces_for_sale(summary.voucher);
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

/// Adds up what the lanes have of each voucher. Those of one voucher are next to each other.
std::vector<VoucherSummary> join_lanes(std::vector<VoucherSummary> of_lanes) {
  std::vector<VoucherSummary> joined;
  for (VoucherSummary& one : of_lanes) {
    if (!joined.empty() && joined.back().voucher.id == one.voucher.id) {
      add_summary(one, joined.back());
    } else {
      joined.push_back(std::move(one));
    }
  }
  return joined;
}

}  // namespace

absl::StatusOr<std::vector<VoucherSummary>> summarize_all(Client& client,
                                                          std::span<const SaleLane> lanes) {
  const auto id_of = [](const VoucherSummary& one) { return one.voucher.id; };
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
  std::ranges::stable_sort(summaries, {}, id_of);
  std::vector<VoucherSummary> joined = join_lanes(std::move(summaries));
  std::ranges::for_each(joined, add_unsold);
  return joined;
}

}  // namespace rushgate
