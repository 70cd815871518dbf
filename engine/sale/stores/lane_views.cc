#include "engine/sale/stores/lane_views.h"

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/order_rules.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<LaneViews>> LaneViews::open(const SaleStores& stores,
                                                           const SaleKeys& keys) {
  int count = 1;
  if (LaneStore* const store = stores.orders.lanes()) {
    ASSIGN_OR_RETURN(count, store->count_lanes());
  }
  std::unique_ptr<LaneViews> views(new LaneViews(stores, keys, count));
  if (views->vouchers_) RETURN_IF_ERROR(views->vouchers_->load());
  return views;
}

LaneViews::LaneViews(const SaleStores& stores, const SaleKeys& keys, int count) : stores_(stores) {
  lanes_.push_back({.number = 0, .keys = keys, .stores = stores});
  if (count == 1) return;
  lanes_.clear();
  vouchers_ = std::make_unique<VoucherLanes>(stores, count);
  for (int lane = 0; lane < count; ++lane) {
    orders_.push_back(std::make_unique<LaneOrders>(stores.orders, *vouchers_, lane));
    lanes_.push_back(
        {.number = lane, .keys = lane == 0 ? keys : keys.of_lane(lane), .stores = *orders_.back()});
  }
}

absl::StatusOr<int> LaneViews::of_voucher(VoucherId voucher) {
  if (!vouchers_) return 0;
  ASSIGN_OR_RETURN(const auto place, vouchers_->find(voucher));
  return place ? place->home : first_lane(voucher, count());
}

absl::StatusOr<std::optional<int>> LaneViews::of_buyer(VoucherId voucher, const UserId& user) {
  if (!vouchers_) return 0;
  ASSIGN_OR_RETURN(const auto place, vouchers_->find(voucher));
  if (!place) return std::nullopt;
  return place->of_buyer(user);
}

std::optional<int> LaneViews::known_of_buyer(VoucherId voucher, const UserId& user) const {
  if (!vouchers_) return 0;
  const auto known = vouchers_->remembered(voucher);
  if (!known) return std::nullopt;
  return known->of_buyer(user);
}

int LaneViews::count_of_voucher(VoucherId voucher) const {
  const auto known = vouchers_ ? vouchers_->remembered(voucher) : std::nullopt;
  return known ? known->lanes : 1;
}

std::vector<VoucherId> LaneViews::split_vouchers() const {
  return vouchers_ ? vouchers_->remembered_on_several() : std::vector<VoucherId>();
}

absl::Status LaneViews::note_if_archived(VoucherId voucher) {
  return vouchers_ ? vouchers_->note_if_archived(voucher) : absl::OkStatus();
}

absl::StatusOr<int> LaneViews::of_order(OrderId order) const {
  const int lane = lane_of_order(order);
  if (lane < count()) return lane;
  if (!vouchers_) return 0;
  ASSIGN_OR_RETURN(const int present, stores_.orders.lanes()->count_lanes());
  if (lane >= present) return 0;
  return absl::UnavailableError(concat("order ", order, " is on the lane ", lane,
                                       ", and this process has opened the sale with ", count(),
                                       " lanes: open it again"));
}

}  // namespace rushgate
