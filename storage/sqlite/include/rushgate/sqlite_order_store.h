// Orders, payments and vouchers in an SQLite database. docs/format.md defines its tables.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct SqliteOrderStoreOptions {
  /// Opens the database for reading, while another process may write it. Each call sees the latest
  /// commits. Neither creates nor changes a database. If no other process has it open, SQLite may
  /// create empty -wal and -shm files, for which it needs permission.
  bool read_only = false;
  /// How long a call waits for the lock of another connection before it fails. The order worker
  /// retries by itself.
  int busy_timeout_ms = 50;
  /// Logs the creation, migration and opening of the database; null: no logging.
  std::shared_ptr<spdlog::logger> logger = {};
  /// For tests: the name of the SQLite VFS; empty: the disk.
  std::string vfs = {};
};

/// Stores orders, payments and vouchers in an SQLite file. Thread-safe; reads do not wait for a
/// batch that is being written. After an error the store stays usable, and the failed call has
/// changed nothing. Messages contain the file and SQLite's message. Errors:
/// - kUnavailable: busy, disk full, I/O error, out of memory. A retry may succeed.
/// - kDataLoss: damaged data, or not a database.
/// - kInvalidArgument: a constraint forbids the change.
/// - kFailedPrecondition: a write to a read-only store, or as in VoucherStore.
/// - kInternal: other errors of SQLite.
///
/// Exceeding the file size limit (RLIMIT_FSIZE, `ulimit -f`) is an I/O error: SIGXFSZ is blocked on
/// the calling thread.
class SqliteOrderStore final : public OrderStore,
                               public PaymentStore,
                               public VoucherStore,
                               public ArchiveStore,
                               public LaneStore {
 public:
  /// Opens a database. Creates or migrates it first if needed, atomically.
  ///
  /// Further errors:
  /// - kFailedPrecondition: another application's database, or read_only and not migrated.
  /// - kUnimplemented: written by a newer version of Rushgate.
  /// - kNotFound: read_only, and it does not exist.
  /// - kInvalidArgument: no file name.
  static absl::StatusOr<std::unique_ptr<SqliteOrderStore>> open(
      const std::filesystem::path& file, SqliteOrderStoreOptions options = {});
  ~SqliteOrderStore() override;

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<FoundOrders> search(const OrderSearch& search) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<OrderCounts> count_by_status(std::optional<VoucherId> voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit) override;
  absl::Status check_integrity() override;
  /// Copies by SQLite's backup API. The log (-wal) grows meanwhile.
  absl::Status copy_to(const std::filesystem::path& file,
                       absl::FunctionRef<absl::Status()> at_that_moment,
                       AfterPortion after) override;
  VoucherStore* vouchers() override { return this; }
  PaymentStore* payments() override { return this; }
  ArchiveStore* archive() override { return this; }
  RecordStore* records() override;
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

  /// Returns the file as it was opened: the running system (its boot id), device and inode. So
  /// processes that open one file share the instance, and a copy is another one.
  absl::StatusOr<DatabaseInstance> instance() override;
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
  absl::StatusOr<std::vector<VoucherVersion>> pending() override;
  absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) override;
  absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherVersion>> all_applied() override;

 private:
  struct Impl;
  explicit SqliteOrderStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
