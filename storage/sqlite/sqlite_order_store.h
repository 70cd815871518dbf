// Orders and vouchers in an SQLite database. What it looks like: docs/format.md.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order_store.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct SqliteOrderStoreOptions {
  /// For readers of a database that another process writes: they see what it has committed, at
  /// every call anew. Changes and creates no database; where nobody holds it, SQLite may leave its
  /// empty -wal and -shm files beside it, and so wants to be allowed to.
  bool read_only = false;
  /// How long a call waits for another connection's lock before it fails; whoever writes orders
  /// tries again by himself.
  int busy_timeout_ms = 50;
  /// Told when the database is created, migrated or opened; null for silence.
  std::shared_ptr<spdlog::logger> logger = {};
  /// For tests: name of the SQLite VFS to stand on; empty for the disk.
  std::string vfs = {};
};

/// Thread-safe; reading does not wait for a batch that is being written. After any error the store
/// stays usable, and the failed call has changed nothing.
///
/// Errors: kUnavailable busy, disk full, I/O error, out of memory: worth trying again; kDataLoss
/// what is on disk is damaged, or no database at all; kInvalidArgument a constraint forbids it;
/// kFailedPrecondition writing to a store that was opened read-only, or what order_store.h says;
/// kInternal anything else SQLite says. The text names the file and holds SQLite's own.
///
/// A file that may not grow any more (RLIMIT_FSIZE, `ulimit -f`) is an I/O error: SIGXFSZ is kept
/// from the calling thread during a call.
class SqliteOrderStore final : public OrderStore {
 public:
  /// Opens a database, creating or migrating it first where needed, all of it or nothing.
  ///
  /// Further errors: kFailedPrecondition the file is somebody else's database, or read_only
  /// and not migrated yet; kUnimplemented it was written by a newer version of this software;
  /// kNotFound read_only, and it does not exist; kInvalidArgument no file is named.
  static absl::StatusOr<std::unique_ptr<SqliteOrderStore>> open(
      const std::filesystem::path& file, SqliteOrderStoreOptions options = {});
  ~SqliteOrderStore() override;

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override;
  absl::StatusOr<std::optional<Order>> find(OrderId id) override;
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override;
  absl::StatusOr<OrderId> greatest_id(OrderId below) override;
  absl::StatusOr<std::int64_t> count_live(VoucherId voucher) override;
  absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() override;
  absl::Status check_integrity() override;

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
  struct Impl;
  explicit SqliteOrderStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
