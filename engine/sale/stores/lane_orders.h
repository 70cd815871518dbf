// The part of an order database that belongs to one lane of a sale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sale/stores/voucher_lanes.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// Has the state of one lane, and its vouchers, orders, payments and changes alone, so that everything
/// which knows nothing of lanes works on one. Which orders are its own follows from their ids. What
/// belongs to no lane is that of the whole database: its copy, its integrity (of which the lane 0 asks),
/// find_payment(), count_by_status() and the last position of a change. Thread-safe. Owns nothing.
class LaneOrders final : public OrderStore,
                         public PaymentStore,
                         public VoucherStore,
                         public ArchiveStore {
 public:
  /// `shared` must have lanes, and the vouchers too.
  LaneOrders(OrderStore& shared, VoucherLanes& lanes, int lane)
      : shared_(shared), lanes_(lanes), lane_(lane) {}

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<FoundOrders> search(const OrderSearch& search) override;
  /// If the greatest id is another lane's, returns one of the same second that is below all of this lane's.
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<OrderCounts> count_by_status(std::optional<VoucherId> voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit) override;
  absl::Status record_checkpoint(const BatchFence& fence) override;
  absl::Status copy_to(const std::filesystem::path& file,
                       absl::FunctionRef<absl::Status()> at_that_moment,
                       AfterPortion after) override;
  absl::Status check_integrity() override;
  absl::StatusOr<DatabaseInstance> instance() override { return shared_.instance(); }
  VoucherStore* vouchers() override { return this; }
  PaymentStore* payments() override { return shared_.payments() ? this : nullptr; }
  ArchiveStore* archive() override { return shared_.archive() ? this : nullptr; }
  [[nodiscard]] bool takes_user_names() const override { return shared_.takes_user_names(); }
  [[nodiscard]] int lane() const override { return lane_; }
  absl::StatusOr<std::vector<MovedPieces>> moved_pieces(VoucherId voucher) override {
    return shared_.lanes()->moved_pieces(voucher);
  }

  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  /// kResourceExhausted: the lane has no more counters on this day.
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) override;
  absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) override;
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after, std::size_t count_max,
                                                   std::optional<OrderId> order) override;
  absl::StatusOr<std::int64_t> last_position() override;

  /// Puts a new voucher on the lane first. kAborted: another process has put it on another one.
  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override;
  absl::StatusOr<std::vector<VoucherVersion>> pending() override;
  absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) override;
  absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_applied() override;

  absl::Status archive_voucher(VoucherId voucher, std::int64_t at_ms) override;
  absl::StatusOr<std::size_t> archive_orders(VoucherId voucher, std::size_t count_max) override;
  absl::StatusOr<std::size_t> delete_orders(VoucherId voucher, std::size_t count_max) override;
  absl::StatusOr<std::vector<ArchivedVoucher>> archived_vouchers() override;
  absl::StatusOr<std::vector<Order>> list_archived(const OrderFilter& filter) override;

 private:
  [[nodiscard]] bool is_ours(OrderId order) const;
  absl::StatusOr<bool> is_our_voucher(VoucherId voucher);
  [[nodiscard]] BatchFence of_lane(const BatchFence& fence) const;
  template <class Read>
  absl::StatusOr<std::vector<Order>> list_ours(const OrderFilter& filter, Read read);
  template <class Value, class VoucherOf>
  absl::StatusOr<std::vector<Value>> ours(absl::StatusOr<std::vector<Value>> values,
                                          VoucherOf voucher_of);

  OrderStore& shared_;
  VoucherLanes& lanes_;
  const int lane_;
};

}  // namespace rushgate
