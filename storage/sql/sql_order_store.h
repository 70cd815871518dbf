// Orders, payments, vouchers and the archive in a server database.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/integrity.h"
#include "storage/sql/pool.h"
#include "storage/sql/records.h"
#include "storage/sql/schema.h"
#include "storage/sql/sql_port.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace spdlog {
class logger;
}

namespace rushgate::sql {

/// What the databases have in common. Thread-safe. Messages have the name of the database and its own
/// message. Errors of a database are those of Pool.
///
/// If the connection is lost during a COMMIT, the call fails with kUnavailable, and may have taken effect.
/// All calls that the sale repeats may be repeated: a stored order or event is recognised.
class SqlOrderStore final : public OrderStore,
                            public PaymentStore,
                            public VoucherStore,
                            public ArchiveStore,
                            public LaneStore {
 public:
  /// Connects, and creates or migrates the tables. Errors are those of migrate(). `logger` may be null.
  static absl::StatusOr<std::unique_ptr<SqlOrderStore>> open(
      DatabaseAt database, const MigrateOptions& options,
      const std::shared_ptr<spdlog::logger>& logger);

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<FoundOrders> search(const OrderSearch& search) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<OrderCounts> count_by_status(std::optional<VoucherId> voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit) override;
  absl::Status check_integrity() override { return sql::check_integrity(pool_); }
  VoucherStore* vouchers() override { return this; }
  PaymentStore* payments() override { return this; }
  ArchiveStore* archive() override { return this; }
  RecordStore* records() override { return &records_; }
  LaneStore* lanes() override { return this; }

  absl::StatusOr<DatabaseState> state() override;
  absl::StatusOr<DatabaseState> fence() override;
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override;

  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) override;
  absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) override;
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after, std::size_t count_max,
                                                   std::optional<OrderId> order) override;
  absl::StatusOr<std::int64_t> last_position() override;

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
  explicit SqlOrderStore(DatabaseAt database) : pool_(std::move(database)) {}

  /// Runs a query and returns its rows, each read by `to_value`.
  template <class ToValue>
  auto read_all(Statement query, ToValue to_value)
      -> absl::StatusOr<std::vector<std::invoke_result_t<ToValue, const Row&>>>;
  template <class ToValue>
  auto read_first(Statement query, ToValue to_value)
      -> absl::StatusOr<std::optional<std::invoke_result_t<ToValue, const Row&>>>;
  absl::StatusOr<std::int64_t> read_integer(Statement query);

  Pool pool_;
  SqlRecords records_{pool_};
};

}  // namespace rushgate::sql
