#include "engine/sale/stores/voucher_lanes.h"

#include <algorithm>
#include <mutex>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {

absl::Status VoucherLanes::load() {
  ASSIGN_OR_RETURN(const auto homes, store_.voucher_lanes());
  ASSIGN_OR_RETURN(const auto versions, vouchers_.all_versions());
  for (const VoucherVersion& version : versions) {
    const VoucherId voucher = version.voucher.id;
    const auto home = homes.find(voucher);
    if (home == homes.end()) continue;  // it is being published
    const VoucherPlace place{.home = home->second, .lanes = version.voucher.lanes};
    RETURN_IF_ERROR(remember(voucher, place).status());
  }
  return absl::OkStatus();
}

std::optional<VoucherPlace> VoucherLanes::remembered(VoucherId voucher) const {
  const std::shared_lock lock(mutex_);
  const auto found = places_.find(voucher);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::optional<VoucherPlace>> VoucherLanes::find(VoucherId voucher) {
  if (const auto place = remembered(voucher)) return place;
  ASSIGN_OR_RETURN(const auto home, store_.lane_of(voucher));
  if (!home) return std::nullopt;
  VoucherPlace place{.home = *home};
  ASSIGN_OR_RETURN(const auto latest, vouchers_.latest(voucher));
  if (!latest.has_value()) {  // it is being published for the first time, or archived
    RETURN_IF_ERROR(check_known(voucher, place));
    return place;
  }
  place.lanes = latest->voucher.lanes;
  ASSIGN_OR_RETURN(const VoucherPlace known, remember(voucher, place));
  return known;
}

absl::StatusOr<int> VoucherLanes::put(VoucherId voucher, int lane) {
  if (const auto known = remembered(voucher)) return known->home;
  ASSIGN_OR_RETURN(const int present, store_.put_on_lane(voucher, lane));
  RETURN_IF_ERROR(check_known(voucher, {.home = present}));
  return present;
}

absl::StatusOr<VoucherPlace> VoucherLanes::remember(VoucherId voucher, VoucherPlace place) {
  RETURN_IF_ERROR(check_known(voucher, place));
  const std::lock_guard lock(mutex_);
  places_.try_emplace(voucher, place);
  return place;
}

absl::Status VoucherLanes::check_known(VoucherId voucher, const VoucherPlace& place) const {
  const int last = std::max(place.home, place.lanes - 1);
  if (last < count_) return absl::OkStatus();
  return absl::UnavailableError(concat("voucher ", voucher, " is on the lane ", last,
                                       ", and this process has opened the sale with ", count_,
                                       " lanes: open it again"));
}

}  // namespace rushgate
