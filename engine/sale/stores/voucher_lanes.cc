#include "engine/sale/stores/voucher_lanes.h"

#include <mutex>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {

absl::Status VoucherLanes::load() {
  ASSIGN_OR_RETURN(const auto lanes, store_.voucher_lanes());
  for (const auto& [voucher, lane] : lanes) RETURN_IF_ERROR(remember(voucher, lane).status());
  return absl::OkStatus();
}

std::optional<int> VoucherLanes::remembered(VoucherId voucher) const {
  const std::shared_lock lock(mutex_);
  const auto found = lanes_.find(voucher);
  if (found == lanes_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::optional<int>> VoucherLanes::find(VoucherId voucher) {
  if (const auto lane = remembered(voucher)) return lane;
  ASSIGN_OR_RETURN(const auto lane, store_.lane_of(voucher));
  if (!lane) return std::nullopt;
  ASSIGN_OR_RETURN(const int known, remember(voucher, *lane));
  return known;
}

absl::StatusOr<int> VoucherLanes::put(VoucherId voucher, int lane) {
  if (const auto known = remembered(voucher)) return *known;
  ASSIGN_OR_RETURN(const int present, store_.put_on_lane(voucher, lane));
  return remember(voucher, present);
}

absl::StatusOr<int> VoucherLanes::remember(VoucherId voucher, int lane) {
  if (lane >= count_) {
    return absl::UnavailableError(concat("voucher ", voucher, " is on the lane ", lane,
                                         ", and this process has opened the sale with ", count_,
                                         " lanes: open it again"));
  }
  const std::lock_guard lock(mutex_);
  lanes_.try_emplace(voucher, lane);
  return lane;
}

}  // namespace rushgate
