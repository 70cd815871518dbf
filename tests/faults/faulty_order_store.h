// An order store that fails when it is told to.
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

namespace rushgate::faults {

/// Passes everything on to another store, but for what it was told to fail. All of it may be called
/// from any thread at any time, unless said otherwise.
class FaultyOrderStore final : public OrderStore {
 public:
  enum class Point : std::uint8_t { kBeforeWrite, kAfterWrite, kBeforeList };

  /// Whether a failed write was passed on all the same. A store keeps its word if it was not; kYes
  /// is the answer lost on its way from a database elsewhere.
  enum class Kept : std::uint8_t { kNo, kYes };

  /// What an order that poisons its batch does to it.
  enum class Poison : std::uint8_t {
    kFailsTheBatch,    // kInvalidArgument, nothing is stored: the others must be written without it
    kFailsAsAnOutage,  // kUnavailable, nothing is stored
    kThrows,           // nothing is stored
    kIsRefused,        // it alone; the others are passed on
  };

  explicit FaultyOrderStore(std::unique_ptr<OrderStore> store);
  /// `store` must outlive this one.
  explicit FaultyOrderStore(OrderStore& store);

  /// Fails the `nth` write from now on, 1 being the next, and none after it.
  void fail_write(int nth, Kept kept = Kept::kNo, absl::Status error = default_error());
  /// Fails every write from now on, until called with OK.
  void fail_writes(absl::Status error = default_error());
  /// Fails find(), list(), greatest_id(), count_live(), vouchers_with_orders(), check_integrity()
  /// and whatever reads vouchers, until called with OK.
  void fail_reads(absl::Status error = default_error());
  /// Fails record_pending(), settle(), fence() and record_checkpoint(), until called with OK.
  void fail_voucher_writes(absl::Status error = default_error());

  /// From now on; an empty predicate ends it.
  void poison(std::function<bool(const Order&)> is_poison, Poison kind = Poison::kFailsTheBatch);

  /// Called around every write and before every list(), on the thread that does it; it may kill the
  /// process. kAfterWrite is left out where the write failed. Set it before other threads use the
  /// store.
  void at_every_point(std::function<void(Point)> hook);

  /// Called before whatever fail_reads() would fail, on the thread that reads; it may use this
  /// store, and is then called again. Set it before other threads use the store.
  void before_every_read(std::function<void()> hook);

  /// Calls of write() so far, failed ones too.
  [[nodiscard]] int writes() const;
  /// Calls of state() so far.
  [[nodiscard]] int states_read() const { return states_read_; }

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status check_integrity() override;

  absl::StatusOr<DatabaseState> state() override {
    ++states_read_;
    return store_.state();
  }
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

  static absl::Status default_error() { return absl::UnavailableError("injected fault"); }

 private:
  std::atomic<int> states_read_ = 0;
  using Results = std::vector<OrderResult>;
  struct Fault {
    int at = 0;  // number of the write
    Kept kept = Kept::kNo;
    absl::Status error;
  };
  /// What one write has to go through.
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
  OrderStore& store_;
  std::function<void(Point)> hook_;
  std::function<void()> read_hook_;

  mutable std::mutex mutex_;  // guards what follows
  int writes_ = 0;
  Plan plan_;
  absl::Status write_error_;
  absl::Status read_error_;
  absl::Status voucher_write_error_;
};

}  // namespace rushgate::faults
