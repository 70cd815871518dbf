#include "engine/sale/keyspace/lost_versions.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

using VersionState = VoucherVersion::State;

constexpr char kRefusedAndLost[] = "it was refused, and the order database has lost why";

/// Returns the version in an entry of the applied versions; empty if it has none.
std::optional<VoucherVersion> read_version(const OrderEntry& entry) {
  const auto id = parse_int64(entry.field("voucher").value_or(""));
  auto version = read_terms(entry.fields);
  if (!id || !version) return std::nullopt;
  version->voucher.id = *id;
  version->voucher.title = std::string(entry.field("title").value_or(""));
  return version;
}

/// Records a version that is in force on a lane, and refused ones for missing numbers before it. Another process may do
/// the same. Returns false if the database has it.
absl::StatusOr<bool> record_applied(VoucherStore& vouchers, VoucherVersion version, int lane) {
  constexpr int kTries = 100;  // each fails only because another process recorded one
  const VoucherId id = version.voucher.id;
  const std::int64_t number = version.version;
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto latest, vouchers.latest(id));
    const std::int64_t highest = latest.has_value() ? latest->version : 0;
    if (highest > number) return false;
    if (highest == number) {
      if (latest->state != VersionState::kPending) return false;
      // On several lanes, it may not be in force on all: recover() finishes that. The lane 0 is the last.
      if (version.voucher.lanes > 1 && lane != 0) return i > 1;
      RETURN_IF_ERROR(vouchers.resolve(id, number, VersionState::kApplied, {}));
      return true;
    }
    version.version = highest + 1;
    const absl::Status recorded = vouchers.record_pending(version);
    if (absl::IsFailedPrecondition(recorded) && i < kTries) continue;
    RETURN_IF_ERROR(recorded);
    if (version.version < number) {
      RETURN_IF_ERROR(
          vouchers.resolve(id, version.version, VersionState::kRefused, kRefusedAndLost));
    }
  }
}

}  // namespace

absl::StatusOr<std::size_t> restore_lost_versions(Client& client, const SaleStores& stores,
                                                  const SaleKeys& keys) {
  ASSIGN_OR_RETURN(const auto archived, read_archived(stores.orders));
  std::size_t restored = 0;
  absl::Status failed;
  const auto restore = [&](const OrderEntry& entry) -> absl::Status {
    auto version = read_version(entry);
    if (!version || is_archived(archived, version->voucher.id)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto is_new,
                     record_applied(stores.vouchers, *std::move(version), stores.orders.lane()));
    restored += is_new ? 1 : 0;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(for_each_entry(client, keys.applied_versions(), StreamId::min(), StreamId::max(),
                                 [&](const OrderEntry& entry) {
                                   failed = restore(entry);
                                   return failed.ok();
                                 }));
  if (!failed.ok()) return failed;
  return restored;
}

}  // namespace rushgate
