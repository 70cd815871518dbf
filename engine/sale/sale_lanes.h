// The lanes of a sale: the parts of each, and which of them a call concerns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/repeating_timer.h"
#include "engine/sale/sale_parts.h"
#include "engine/sale/split/piece_mover.h"
#include "engine/sale/stores/lane_views.h"
#include "engine/sale/stores/unknown_vouchers.h"
#include <rushgate/backend.h>
#include <rushgate/order_store.h>
#include <rushgate/purchase_statistics.h>
#include <rushgate/sale.h>

namespace rushgate {

/// Thread-safe. Does not own the backend and the stores, which must outlive it.
class Sale::Lanes {
 public:
  /// Sets the keys of a sale on a Redis Cluster, and the number of lanes that a new one has by default.
  /// The data of another system, and the keys in a custom script, keep their names.
  static absl::Status fit_to_cluster(const SaleStores& stores, SaleOptions& options);
  /// Returns true if a sale with these options has several lanes.
  static absl::StatusOr<bool> are_several(const SaleStores& stores, const SaleOptions& options);
  /// Opens each lane: as many as the order database has, and at least `options.lanes`. The options must
  /// be valid. A lane whose server is away is opened later, if another one can be opened now.
  static absl::StatusOr<std::unique_ptr<Lanes>> open(Backend& backend, const SaleStores& stores,
                                                     SaleOptions options);
  ~Lanes() { is_closing_ = true; }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Returns the parts of the only lane; null if there are several.
  [[nodiscard]] Parts* only() const { return parts_.size() == 1 ? parts_.front().get() : nullptr; }
  /// Returns the parts of each lane, also of those that are not open: their counters and options can be
  /// read.
  [[nodiscard]] const std::vector<std::unique_ptr<Parts>>& all() const { return parts_; }
  [[nodiscard]] std::span<const SaleLane> views() const { return views_->all(); }
  /// Returns the parts of a lane. Opens it first if it is not open yet, and has not just been tried.
  /// kNotFound: there is no such lane. kUnavailable: its server is still away.
  absl::StatusOr<Parts*> at(int lane);
  /// Returns a session of the backend, for what concerns several lanes.
  [[nodiscard]] Client& client() const { return *parts_.front()->client; }
  /// Returns the stores of the whole sale.
  [[nodiscard]] const SaleStores& stores() const { return views_->stores(); }

  // As in LaneViews:
  absl::StatusOr<Parts*> of_voucher(VoucherId voucher);
  absl::StatusOr<SaleLane> view_of(VoucherId voucher);
  absl::StatusOr<SaleLane> view_of_buyer(VoucherId voucher, const UserId& user);
  absl::StatusOr<Parts*> of_order(OrderId order);
  [[nodiscard]] int count_of_voucher(VoucherId voucher) const {
    return views_->count_of_voucher(voucher);
  }

  /// Returns the parts of the lane that publishes a voucher. kInvalidArgument: the sale has fewer lanes than
  /// it is to be on.
  absl::StatusOr<Parts*> publisher_of(const Voucher& voucher);
  /// Returns the parts of each lane that a voucher is on.
  absl::StatusOr<std::vector<Parts*>> all_of_voucher(VoucherId voucher);
  /// Notes that the stock of a voucher, or its terms, may have changed.
  void note_stock(VoucherId voucher);
  /// Notes that a voucher is archived.
  absl::Status note_archived(VoucherId voucher) { return views_->note_if_archived(voucher); }
  /// Moves free pieces of a voucher on several lanes to where users wait for them. What fails is tried again a second
  /// later.
  void serve_waiting_lists(VoucherId voucher);
  /// Does that for the voucher of an order of `parts` whose pieces came back if `change` was done.
  void serve_waiting_lists(Parts& parts, OrderId order, const ChangeResult& change);

  // As in Sale, with several lanes:
  BuyResult buy(const BuyRequest& request);
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests);
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests);
  void complete(const BuyRequest& request, BuyResult& result);
  WaitResult wait_for(VoucherId voucher, const UserId& user);
  absl::StatusOr<bool> leave_waiting_list(VoucherId voucher, const UserId& user);
  absl::StatusOr<std::vector<UserId>> waiting_list(VoucherId voucher);
  absl::StatusOr<std::vector<WaitingUser>> waiting_users(VoucherId voucher, std::int64_t after,
                                                         std::size_t count_max);
  std::vector<ChangeResult> pay_all(std::span<const PayRequest> requests);
  ChangeResult confirm_refund(const std::string& payment);
  absl::StatusOr<std::vector<OrderState>> orders_of(const UserId& user);

 private:
  /// Of a lane that is not open, or was not at first.
  struct Opening {
    std::atomic<bool> is_open = false;
    std::mutex mutex;          // held while the lane is opened
    std::int64_t next_ms = 0;  // of the next attempt, monotonic; guarded by mutex
    absl::Status why = {};     // of the last attempt; guarded by mutex
    std::string logged = {};   // the last message about it; guarded by mutex
  };

  Lanes(Backend& backend, std::unique_ptr<LaneViews> views, const SaleOptions& options);
  absl::Status open_all();
  absl::Status open_lane(std::size_t lane);
  absl::Status open_late(std::size_t lane);
  absl::StatusOr<std::optional<int>> lane_of_buyer(VoucherId voucher, const UserId& user);
  OtherLanes other_lanes();
  void serve_now_and_then();
  void serve_once(VoucherId voucher, std::chrono::milliseconds patience);
  absl::Status rebuild_on(int lane, VoucherId voucher);
  [[nodiscard]] bool may_be_elsewhere(const BuyRequest& request, const BuyResult& result);
  template <class Decide>
  std::vector<BuyResult> decide_known(std::span<const BuyRequest> requests, Decide decide);
  BuyResult buy_on(int lane, const BuyRequest& request);
  BuyResult refuse_unknown(const BuyRequest& request);
  BuyResult buy_with_moved(const BuyRequest& request, BuyResult sold_out);

  Backend& backend_;
  const std::unique_ptr<LaneViews> views_;
  std::vector<std::unique_ptr<Parts>> parts_;
  std::vector<Opening> openings_;  // of each lane
  UnknownVouchers unknown_;
  std::unique_ptr<PieceMover> mover_;              // null with one lane
  std::int64_t next_look_for_lists_ms_ = 0;        // monotonic; for the calls of serving_timer_
  std::atomic<bool> is_closing_ = false;           // set by the destructor, for the same
  std::unique_ptr<RepeatingTimer> serving_timer_;  // null with one lane; ends before the rest
};

// ---- Results of lanes, put together ----

/// Adds the purchases of a lane. The percentiles become those of the slower one.
void add_purchases(const PurchaseStatistics& lane, PurchaseStatistics& statistics);

}  // namespace rushgate
