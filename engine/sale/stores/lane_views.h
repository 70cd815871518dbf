// The lanes of an order database, each with its keys and its part of the database.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/stores/lane_orders.h"
#include "engine/sale/stores/voucher_lanes.h"
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Thread-safe. Does not own the stores, which must outlive it.
class LaneViews {
 public:
  /// Reads how many lanes there are, and which vouchers are on them. With one lane, it has the stores as
  /// they are given. Otherwise the order store must keep the vouchers too.
  static absl::StatusOr<std::unique_ptr<LaneViews>> open(const SaleStores& stores,
                                                         const SaleKeys& keys);

  /// Returns the lanes, in the order of their numbers; at least one.
  [[nodiscard]] std::span<const SaleLane> all() const { return lanes_; }
  /// Returns the stores of all lanes together.
  [[nodiscard]] const SaleStores& stores() const { return stores_; }

  /// Returns the lane of a voucher, the first one if it is on several, or the one on which it would be
  /// published. Asks the order database about a voucher that is not remembered. kUnavailable: its lane was
  /// added since open().
  absl::StatusOr<int> of_voucher(VoucherId voucher);
  /// Returns the lane on which a user buys a voucher; empty if it was never recorded. Asks as of_voucher().
  absl::StatusOr<std::optional<int>> of_buyer(VoucherId voucher, const UserId& user);
  /// Returns this if the voucher is remembered. Asks nobody. A voucher that is not may be on several lanes, of
  /// which only the right one may sell it to the user.
  [[nodiscard]] std::optional<int> known_of_buyer(VoucherId voucher, const UserId& user) const;
  /// Returns on how many lanes a voucher is, as far as is remembered. Asks nobody.
  [[nodiscard]] int count_of_voucher(VoucherId voucher) const;
  // As VoucherLanes::remembered_on_several() and note_if_archived():
  [[nodiscard]] std::vector<VoucherId> split_vouchers() const;
  absl::Status note_if_archived(VoucherId voucher);
  /// Returns the lane of an order. Asks the order database about one of a lane that it did not have at
  /// open(). kUnavailable: the lane was added since. An order that cannot exist is on the lane 0.
  [[nodiscard]] absl::StatusOr<int> of_order(OrderId order) const;

 private:
  LaneViews(const SaleStores& stores, const SaleKeys& keys, int count);
  [[nodiscard]] int count() const { return static_cast<int>(lanes_.size()); }

  const SaleStores stores_;
  std::unique_ptr<VoucherLanes> vouchers_;           // null with one lane
  std::vector<std::unique_ptr<LaneOrders>> orders_;  // of each lane; empty with one
  std::vector<SaleLane> lanes_;
};

}  // namespace rushgate
