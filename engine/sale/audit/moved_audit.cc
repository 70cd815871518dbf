#include "engine/sale/audit/moved_audit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/split/lane_pieces.h"

namespace rushgate {
namespace {

using Lanes = std::pair<int, int>;  // from, to

/// Compares a lane's sum of what came and went with its numbers. A script changes them together.
void audit_balance(VoucherId voucher, int lane, const LanePieces& pieces, AuditReport& report) {
  std::int64_t balance = 0;
  for (const auto& [other, count] : pieces.from) balance += count;
  for (const auto& [other, count] : pieces.to) balance -= count;
  const auto field = pieces.fields.find("moved");
  const std::int64_t moved =
      field == pieces.fields.end() ? 0 : parse_int64(field->second).value_or(0);
  if (moved == balance) return;
  report.problems.push_back(concat("voucher ", voucher, ": the lane ", lane, " has ", moved,
                                   " moved pieces, and its numbers of other lanes say ", balance));
}

/// Warns of users that wait on one lane for pieces that are free on another. A process moves these within seconds.
absl::Status audit_waiting(Client& client, VoucherId voucher, std::span<const LanePieces> lanes,
                           AuditReport& report) {
  std::int64_t waiting = 0;
  std::int64_t free = 0;
  for (const LanePieces& lane : lanes) {
    if (lane.free <= 0) waiting += lane.waiting;
    if (lane.waiting == 0) free += std::max<std::int64_t>(lane.free, 0);
  }
  if (waiting == 0 || free == 0) return absl::OkStatus();
  const auto end = lanes.front().fields.find("end");
  const auto end_ms = end == lanes.front().fields.end() ? std::nullopt : parse_int64(end->second);
  ASSIGN_OR_RETURN(const std::int64_t now_ms, keyspace_time_ms(client));
  if (end_ms && now_ms >= *end_ms) return absl::OkStatus();
  report.warnings.push_back(concat("voucher ", voucher, ": ", waiting, " users wait, and ", free,
                                   " pieces are free on other lanes"));
  return absl::OkStatus();
}

/// Audits one voucher. The numbers only grow, so each is read before the one that it must not exceed.
absl::Status audit_voucher(Client& client, std::span<const SaleLane> lanes, VoucherId voucher,
                           AuditReport& report) {
  ASSIGN_OR_RETURN(const auto got, read_lane_pieces(client, lanes, voucher));
  ASSIGN_OR_RETURN(const auto moved, lanes.front().stores.orders.moved_pieces(voucher));
  ASSIGN_OR_RETURN(const auto given, read_lane_pieces(client, lanes, voucher));
  const auto is_whole = [](const LanePieces& pieces) { return pieces.is_whole; };
  if (!std::ranges::all_of(got, is_whole) || !std::ranges::all_of(given, is_whole)) {
    return absl::OkStatus();  // each lane's own audit has named it
  }
  std::map<Lanes, std::int64_t> recorded;
  for (const MovedPieces& one : moved) recorded[{one.from, one.to}] = one.pieces;
  std::int64_t on_their_way = 0;
  for (int from = 0; from < static_cast<int>(lanes.size()); ++from) {
    audit_balance(voucher, from, given[static_cast<std::size_t>(from)], report);
    for (int to = 0; to < static_cast<int>(lanes.size()); ++to) {
      const std::int64_t first = pieces_of(given[static_cast<std::size_t>(from)].to, to);
      const std::int64_t second = recorded[{from, to}];
      const std::int64_t third = pieces_of(got[static_cast<std::size_t>(to)].from, from);
      on_their_way += first - third;
      if (third <= second && second <= first) continue;
      report.problems.push_back(concat("voucher ", voucher, ": the lane ", from, " gave ", first,
                                       " pieces to the lane ", to, ", which got ", third,
                                       ", and the database has ", second));
    }
  }
  RETURN_IF_ERROR(audit_waiting(client, voucher, given, report));
  if (on_their_way != 0) {
    report.warnings.push_back(concat("voucher ", voucher, ": ", on_their_way,
                                     " pieces are on their way between its lanes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status audit_moved_pieces(Client& client, std::span<const SaleLane> lanes,
                                AuditReport& report) {
  ASSIGN_OR_RETURN(const auto in_force, lanes.front().stores.vouchers.all_applied());
  for (const VoucherVersion& version : in_force) {
    if (version.voucher.lanes <= 1) continue;
    const auto count = static_cast<std::size_t>(version.voucher.lanes);
    if (count > lanes.size()) {
      report.problems.push_back(concat("voucher ", version.voucher.id, " is on ", count,
                                       " lanes, and the sale was opened with ", lanes.size()));
      continue;
    }
    RETURN_IF_ERROR(audit_voucher(client, lanes.first(count), version.voucher.id, report));
  }
  return absl::OkStatus();
}

}  // namespace rushgate
