// Orders, payments and vouchers in memory, for tests and for sales that need not outlive their
// process.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// Keeps orders, payments, vouchers, the archive and lanes. Thread-safe. Fulfils the contracts of its five
/// ports, except their promises about disks.
class MemoryOrderStore final : public OrderStore,
                               public PaymentStore,
                               public VoucherStore,
                               public ArchiveStore,
                               public LaneStore {
 public:
  MemoryOrderStore();
  /// Creates a store with this identity, for a keyspace that outlives it. Must not be empty.
  explicit MemoryOrderStore(std::string identity);

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit) override;
  VoucherStore* vouchers() override { return this; }
  PaymentStore* payments() override { return this; }
  ArchiveStore* archive() override { return this; }
  LaneStore* lanes() override { return this; }

  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) override;
  absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) override;
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after, std::size_t count_max,
                                                   std::optional<OrderId> order) override;
  absl::StatusOr<std::int64_t> last_position() override;

  absl::Status archive_voucher(VoucherId voucher, std::int64_t at_ms) override;
  absl::StatusOr<std::size_t> archive_orders(VoucherId voucher, std::size_t count_max) override;
  absl::StatusOr<std::size_t> delete_orders(VoucherId voucher, std::size_t count_max) override;
  absl::StatusOr<std::vector<ArchivedVoucher>> archived_vouchers() override;
  absl::StatusOr<std::vector<Order>> list_archived(const OrderFilter& filter) override;

  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::StatusOr<int> count_lanes() override;
  absl::Status add_lanes(int count) override;
  absl::StatusOr<DatabaseState> state_of(int lane) override;
  absl::StatusOr<DatabaseState> fence_lane(int lane) override;
  absl::StatusOr<std::int64_t> reserve_ids_of(int lane, std::int64_t day, std::int64_t above,
                                              std::int64_t count) override;
  absl::StatusOr<std::optional<int>> lane_of(VoucherId voucher) override;
  absl::StatusOr<std::map<VoucherId, int>> voucher_lanes() override;
  absl::StatusOr<int> put_on_lane(VoucherId voucher, int lane) override;
  absl::StatusOr<std::vector<MovedPieces>> moved_pieces(VoucherId voucher) override;
  absl::Status record_moved(const MovedPieces& moved, const BatchFence& fence) override;

  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override;

 private:
  using Ids = absl::btree_set<OrderId>;

  using ReservedIds = absl::btree_map<std::int64_t, std::int64_t>;  // by day

  /// What differs between lanes. The identity is in each.
  struct Lane {
    DatabaseState state;
    ReservedIds reserved_ids;
  };

  [[nodiscard]] Lane* find_lane(int lane);  // null: there is none
  [[nodiscard]] std::optional<int> find_lane_of(VoucherId voucher) const;
  absl::Status begin_batch(const BatchFence& fence);
  OrderResult store(const Order& order, const BatchFence& fence);
  [[nodiscard]] OrderRivals rivals_of(const Order& order, const BatchFence& fence) const;
  [[nodiscard]] std::optional<Order> find_same_key(const Order& order) const;
  OrderResult apply_one(const OrderEvent& event);
  [[nodiscard]] EventContext context_of(const OrderEvent& event) const;
  void put(const Payment& payment);
  void make_payments_due(OrderId order, const std::string& reason);
  void record(OrderChange change);  // at a new position
  void change(Order& order, OrderStatus status, const OrderEvent& event);
  void move_to_archive(const Order& order);
  [[nodiscard]] const Order* find_anywhere(OrderId id) const;
  /// Adds the pieces of an order to the counts, or removes them (`sign` 1 or -1).
  void count(const Order& order, std::int64_t sign);

  std::mutex mutex_;  // guards the members below
  std::vector<Lane> lanes_;
  absl::btree_map<VoucherId, int> voucher_lanes_;  // of those that were put on one
  /// Pieces by the lanes that they were moved from and to.
  absl::btree_map<VoucherId, std::map<std::pair<int, int>, std::int64_t>> moved_pieces_;
  absl::btree_map<OrderId, Order> orders_;
  absl::flat_hash_map<UserId, Ids> of_user_;
  absl::flat_hash_map<VoucherId, Ids> of_voucher_;
  absl::flat_hash_map<std::pair<UserId, VoucherId>, std::int64_t> live_of_user_;
  absl::flat_hash_map<VoucherId, std::int64_t> taken_of_voucher_;
  absl::flat_hash_map<VoucherId, std::int64_t> refunding_of_voucher_;
  absl::btree_map<std::string, Payment> payments_;
  absl::btree_map<std::int64_t, OrderChange> changes_;  // by position
  std::int64_t last_position_ = 0;
  // Also of archived orders:
  absl::flat_hash_map<std::string, Ids> of_key_;  // an idempotency key
  absl::flat_hash_map<OrderId, absl::btree_set<std::string>> payments_of_order_;
  absl::flat_hash_map<OrderId, std::vector<std::int64_t>> changes_of_order_;  // ascending positions
  // Version n is at index n - 1.
  absl::btree_map<VoucherId, std::vector<VoucherVersion>> vouchers_;
  // Ended sales:
  absl::btree_map<VoucherId, ArchivedVoucher> archived_vouchers_;
  absl::btree_map<OrderId, Order> archived_orders_;
  absl::btree_map<std::string, Payment> archived_payments_;
  absl::btree_map<std::int64_t, OrderChange> archived_changes_;  // by position
};

}  // namespace rushgate
