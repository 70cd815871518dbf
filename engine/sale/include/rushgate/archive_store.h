// The port for ended sales: moves their orders out of the tables of the others, and deletes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A voucher whose sale was archived. Its id is never published again.
struct ArchivedVoucher {
  VoucherVersion last = {};         // the version in force at its end
  std::int64_t archived_at_ms = 0;  // since 1970 UTC
  bool has_unmoved_orders = false;  // its archiving was interrupted
  bool is_deleted = false;          // its orders are being deleted, or were
};

/// Keeps ended sales apart. Thread-safe. Errors, durability and atomicity are those of OrderStore.
class ArchiveStore {
 public:
  virtual ~ArchiveStore() = default;

  /// Archives a voucher's versions: the voucher store has none of it any more, and refuses new ones
  /// (record_pending() returns kFailedPrecondition). From then on the payment store's apply()
  /// returns kTooEarly for kUsed and kRefundBegun events of its orders. Does nothing if it is
  /// archived. Errors, which leave everything as it was; check_archivable() decides:
  /// - kNotFound: it has no version in force.
  /// - kFailedPrecondition: a version is pending, the sale ends after `at_ms`, or an order is
  ///   unpaid or refunding.
  virtual absl::Status archive_voucher(VoucherId voucher, std::int64_t at_ms) = 0;
  /// Moves up to `count_max` orders of an archived voucher to the archive, with their payments and
  /// changes. Payments that are due stay where they are. Returns how many were moved; fewer than
  /// `count_max`: all are. list(), count_live() and vouchers_with_orders() do not see them any
  /// more. Changes keep their positions. changes() and list_payments() of an order still have its
  /// archived ones, and so has changes() of all orders. kFailedPrecondition: the voucher is not
  /// archived.
  virtual absl::StatusOr<std::size_t> archive_orders(VoucherId voucher, std::size_t count_max) = 0;
  /// Deletes up to `count_max` archived orders of a voucher, with their payments and changes.
  /// Returns how many were deleted. kFailedPrecondition: the voucher is not archived, or has orders
  /// that were not moved.
  virtual absl::StatusOr<std::size_t> delete_orders(VoucherId voucher, std::size_t count_max) = 0;

  /// Returns every archived voucher, in ascending order of ids.
  virtual absl::StatusOr<std::vector<ArchivedVoucher>> archived_vouchers() = 0;
  /// As OrderStore::list(), of the archive.
  virtual absl::StatusOr<std::vector<Order>> list_archived(const OrderFilter& filter) = 0;
};

// ---- For implementations: the same errors everywhere ----

/// The contents of a database as far as they decide on the archiving of a voucher.
struct ArchiveContext {
  bool has_pending_version = false;
  std::optional<std::int64_t> end_ms = {};  // of the version in force; empty: there is none
  std::optional<Order> open_order = {};     // one that is unpaid or refunding
};
/// Returns the error of archive_voucher() for a voucher that is not archived yet; OK if there is
/// none.
absl::Status check_archivable(VoucherId voucher, std::int64_t at_ms, const ArchiveContext& context);
/// Returns the error of archive_orders() and delete_orders() for a voucher that is not archived.
absl::Status not_archived_error(VoucherId voucher);
/// Returns the error of delete_orders() for a voucher whose orders were not all moved.
absl::Status unmoved_orders_error(VoucherId voucher);
/// Returns the error of VoucherStore::record_pending() for an archived voucher.
absl::Status archived_error(VoucherId voucher);

}  // namespace rushgate
