// Orders and vouchers in memory, for tests and for sales that need not outlive their process.
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
#include <rushgate/order_store.h>

namespace rushgate {

/// Thread-safe. Fulfils both ports, except their promises about disks.
class MemoryOrderStore final : public OrderStore, public VoucherStore {
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
  VoucherStore* vouchers() override { return this; }

  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override;

 private:
  using Ids = absl::btree_set<OrderId>;

  OrderResult store(const Order& order, const BatchFence& fence);
  [[nodiscard]] OrderRivals rivals_of(const Order& order, const BatchFence& fence) const;

  std::mutex mutex_;  // guards the members below
  DatabaseState state_;
  absl::btree_map<std::int64_t, std::int64_t> reserved_ids_;  // by day
  absl::btree_map<OrderId, Order> orders_;
  absl::flat_hash_map<UserId, Ids> of_user_;
  absl::flat_hash_map<VoucherId, Ids> of_voucher_;
  absl::flat_hash_map<std::pair<UserId, VoucherId>, std::int64_t> live_of_user_;
  absl::flat_hash_map<VoucherId, std::int64_t> live_of_voucher_;
  // Version n is at index n - 1.
  absl::btree_map<VoucherId, std::vector<VoucherVersion>> vouchers_;
};

}  // namespace rushgate
