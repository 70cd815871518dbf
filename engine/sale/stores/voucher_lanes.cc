#include "engine/sale/stores/voucher_lanes.h"

#include <algorithm>
#include <mutex>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/archived_vouchers.h"

namespace rushgate {

absl::Status VoucherLanes::load() {
  ASSIGN_OR_RETURN(const auto homes, store().voucher_lanes());
  ASSIGN_OR_RETURN(const auto versions, stores_.vouchers.all_versions());
  for (const VoucherVersion& version : versions) {
    const VoucherId voucher = version.voucher.id;
    const auto home = homes.find(voucher);
    if (home == homes.end()) continue;  // it is being published
    const VoucherPlace place{.home = home->second, .lanes = version.voucher.lanes};
    RETURN_IF_ERROR(remember(voucher, place, /*is_archived=*/false).status());
  }
  ASSIGN_OR_RETURN(const auto archived, read_archived(stores_.orders));
  for (const ArchivedVoucher& one : archived) {
    const auto home = homes.find(one.last.voucher.id);
    if (home == homes.end()) continue;  // it was archived before there were lanes
    const VoucherPlace place{.home = home->second, .lanes = one.last.voucher.lanes};
    RETURN_IF_ERROR(remember(one.last.voucher.id, place, /*is_archived=*/true).status());
  }
  return absl::OkStatus();
}

std::optional<VoucherPlace> VoucherLanes::remembered(VoucherId voucher) const {
  const std::shared_lock lock(mutex_);
  const auto found = places_.find(voucher);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

std::vector<VoucherId> VoucherLanes::remembered_on_several() const {
  const std::shared_lock lock(mutex_);
  return on_several_;
}

absl::Status VoucherLanes::note_if_archived(VoucherId voucher) {
  ASSIGN_OR_RETURN(const bool archived, is_archived(stores_, voucher));
  if (!archived) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  std::erase(on_several_, voucher);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<VoucherPlace>> VoucherLanes::find(VoucherId voucher) {
  if (const auto place = remembered(voucher)) return place;
  ASSIGN_OR_RETURN(const auto home, store().lane_of(voucher));
  if (!home) return std::nullopt;
  VoucherPlace place{.home = *home};
  ASSIGN_OR_RETURN(const auto latest, stores_.vouchers.latest(voucher));
  if (latest.has_value()) {
    place.lanes = latest->voucher.lanes;
  } else {
    ASSIGN_OR_RETURN(const auto archived, find_archived(stores_, voucher));
    if (!archived.has_value()) {  // it is being published for the first time
      RETURN_IF_ERROR(check_known(voucher, place));
      return place;
    }
    place.lanes = archived->last.voucher.lanes;
  }
  ASSIGN_OR_RETURN(const VoucherPlace known, remember(voucher, place, !latest.has_value()));
  return known;
}

absl::StatusOr<int> VoucherLanes::put(VoucherId voucher, int lane) {
  if (const auto known = remembered(voucher)) return known->home;
  ASSIGN_OR_RETURN(const int present, store().put_on_lane(voucher, lane));
  RETURN_IF_ERROR(check_known(voucher, {.home = present}));
  return present;
}

absl::StatusOr<VoucherPlace> VoucherLanes::remember(VoucherId voucher, VoucherPlace place,
                                                    bool is_archived) {
  RETURN_IF_ERROR(check_known(voucher, place));
  const std::lock_guard lock(mutex_);
  const bool is_new = places_.try_emplace(voucher, place).second;
  if (is_new && place.lanes > 1 && !is_archived) on_several_.push_back(voucher);
  return place;
}

absl::Status VoucherLanes::check_known(VoucherId voucher, const VoucherPlace& place) const {
  const int last = std::max(place.home, place.lanes - 1);
  if (last < count_) return absl::OkStatus();
  return absl::UnavailableError(concat("voucher ", voucher, " is on the lane ", last,
                                       ", and this process has opened the sale with ", count_,
                                       " lanes: open it again"));
}

bool is_decided_here(const SaleStores& stores, const Voucher& voucher) {
  return voucher.lanes <= 1 || stores.orders.lane() == 0;
}

absl::StatusOr<VoucherVersion> read_on_lane(const SaleStores& stores,
                                            const VoucherVersion& version) {
  if (version.voucher.lanes <= 1) return version;
  ASSIGN_OR_RETURN(const auto versions, stores.vouchers.versions(version.voucher.id));
  return on_lane(version, stores.orders.lane(), versions);
}

}  // namespace rushgate
