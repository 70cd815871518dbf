// An order store that fails on request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_stores.h"
#include "engine/sale/vouchers/voucher_store.h"

namespace rushgate::faults {

/// Forwards to another store, except for the failures that were requested. Thread-safe, except where
/// a method says otherwise.
class FaultyOrderStore final : public OrderStore, public VoucherStore {
 public:
  enum class Point : std::uint8_t { kBeforeWrite, kAfterWrite, kBeforeList };

  /// Whether a failed write was forwarded. kNo is the promise of order_store.h. kYes is a database
  /// on another machine whose reply was lost.
  enum class Kept : std::uint8_t { kNo, kYes };

  /// The effect of an order that poisons its batch.
  enum class Poison : std::uint8_t {
    kFailsTheBatch,    // kInvalidArgument, nothing is stored; a batch without the order succeeds
    kFailsAsAnOutage,  // kUnavailable, nothing is stored
    kThrows,           // nothing is stored
    kIsRefused,        // the order alone; the others are forwarded
  };

  explicit FaultyOrderStore(std::unique_ptr<OrderStore> store);
  /// `store` must outlive this one.
  explicit FaultyOrderStore(OrderStore& store);

  /// Fails the `nth` write from now on, 1 being the next, and none after it.
  void fail_write(int nth, Kept kept = Kept::kNo, absl::Status error = default_error());
  /// Fails every write from now on, until called with OK.
  void fail_writes(absl::Status error = default_error());
  /// Fails find(), list(), greatest_id(), count_live(), vouchers_with_orders(), check_integrity()
  /// and every read of vouchers, until called with OK.
  void fail_reads(absl::Status error = default_error());
  /// Fails record_pending(), resolve(), fence() and record_checkpoint(), until called with OK.
  void fail_voucher_writes(absl::Status error = default_error());

  /// Poisons the orders for which `is_poison` returns true, until called with an empty predicate.
  void poison(std::function<bool(const Order&)> is_poison, Poison kind = Poison::kFailsTheBatch);

  /// Sets a hook that runs around every write and before every list(), on the calling thread. It may
  /// kill the process. kAfterWrite is left out after a failed write. Set it before other threads use
  /// the store.
  void at_every_point(std::function<void(Point)> hook);

  /// Sets a hook that runs before every call that fail_reads() can fail, on the calling thread. It may
  /// use this store, which runs it again. Set it before other threads use the store.
  void before_every_read(std::function<void()> hook);

  /// Returns the number of calls of write() so far, failed ones included.
  [[nodiscard]] int writes() const;
  /// Returns the number of calls of state() so far.
  [[nodiscard]] int states_read() const { return states_read_; }

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status check_integrity() override;
  /// Returns this if the other store keeps vouchers.
  VoucherStore* vouchers() override { return inner_.orders.vouchers() ? this : nullptr; }

  absl::StatusOr<DatabaseState> state() override {
    ++states_read_;
    return inner_.orders.state();
  }
  absl::StatusOr<DatabaseState> fence() override;
  absl::Status record_checkpoint(std::int64_t checkpoint) override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::Status record_pending(const VoucherVersion& version) override;
  absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                       const std::string& reason) override;
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override;
  absl::StatusOr<std::vector<VoucherVersion>> pending() override;
  absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) override;
  absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_applied() override;

  static absl::Status default_error() { return absl::UnavailableError("injected fault"); }

 private:
  std::atomic<int> states_read_ = 0;
  using Results = std::vector<OrderResult>;
  struct Fault {
    int at = 0;  // number of the write
    Kept kept = Kept::kNo;
    absl::Status error;
  };
  /// The faults of one write.
  struct Plan {
    std::optional<Fault> fault;
    std::function<bool(const Order&)> is_poison;
    Poison kind = Poison::kFailsTheBatch;
  };

  Plan next_write();
  absl::StatusOr<Results> write_poisoned(std::span<const Order> orders, const BatchFence& fence,
                                         const Plan& plan);
  absl::Status read_error() const;
  absl::Status voucher_write_error() const;

  const std::unique_ptr<OrderStore> owned_;
  const SaleStores inner_;
  std::function<void(Point)> hook_;
  std::function<void()> read_hook_;

  mutable std::mutex mutex_;  // guards the members below
  int writes_ = 0;
  Plan plan_;
  absl::Status write_error_;
  absl::Status read_error_;
  absl::Status voucher_write_error_;
};

}  // namespace rushgate::faults
