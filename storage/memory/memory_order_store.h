// The orders of a sale that need not outlive its process, and of tests.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"

namespace rushgate {

/// Thread-safe. Keeps no promise about disks, but those of order_store.h otherwise.
class MemoryOrderStore final : public OrderStore {
 public:
  MemoryOrderStore();
  /// With an identity of its own, for a keyspace that outlives the store. Not empty.
  explicit MemoryOrderStore(std::string identity);

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status check_integrity() override { return absl::OkStatus(); }

  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  absl::Status record_checkpoint(std::int64_t checkpoint) override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status settle(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                      const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> pending() override;
  absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) override;
  absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_applied() override;

 private:
  using Ids = absl::btree_set<OrderId>;

  OrderResult store(const Order& order);
  [[nodiscard]] std::optional<std::string> find_excess(const Order& order) const;

  std::mutex mutex_;  // guards what follows
  DatabaseState state_;
  absl::btree_map<std::int64_t, std::int64_t> reserved_ids_;  // by day
  absl::btree_map<OrderId, Order> orders_;
  absl::flat_hash_map<UserId, Ids> of_user_;
  absl::flat_hash_map<VoucherId, Ids> of_voucher_;
  absl::flat_hash_map<std::pair<UserId, VoucherId>, std::int64_t> live_of_user_;
  absl::flat_hash_map<VoucherId, std::int64_t> live_of_voucher_;
  // Version n at n - 1.
  absl::btree_map<VoucherId, std::vector<VoucherVersion>> vouchers_;
};

}  // namespace rushgate
