// Moves a sale to another order database, of any kind: from a file to a server, or back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order.h>
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

// ---- Copying ----

struct CopyProgress {
  std::int64_t records = 0;        // that were compared so far, and copied if they differed
  std::int64_t records_total = 0;  // about
};

inline absl::Status go_on(const CopyProgress& /*progress*/) { return absl::OkStatus(); }

struct CopyOrdersOptions {
  /// How many records are in memory at a time, and in one transaction.
  std::size_t portion = 5'000;
  /// Called between two portions; an error ends the copying with it.
  absl::FunctionRef<absl::Status(const CopyProgress&)> between_portions = go_on;
};

struct CopyReport {
  bool was_complete = false;  // an earlier call had copied everything: nothing was done
  std::int64_t orders = 0;    // in `to`, archived ones included
  std::int64_t payments = 0;
  std::int64_t changes = 0;
  std::int64_t versions = 0;  // of vouchers
  std::int64_t written = 0;   // records that this call wrote or removed
};

/// Makes `to` a copy of `from`, compares every record of both, and then closes `from`: no sale opens it any
/// more, and workers that have it open pause. `to` opens with the keyspace that `from` had. Orders that are
/// queued, and dead letters, are in the keyspace.
///
/// May be called again after an error, or after the process was killed at any point: it compares what is
/// there, and copies what differs. Until it has returned OK, no sale opens `to`. Sellers and workers may go
/// on with `from` in all calls but the last one. To go back, copy in the other direction.
///
/// Errors:
/// - kAborted: `from` was changed meanwhile. Everything was copied, except for what changed: call it again
///   once no process writes.
/// - kFailedPrecondition: `to` has another sale, or `from` is no open database of a sale.
/// - kDataLoss: `to` does not keep what was written to it.
/// - kUnimplemented: one of them has no OrderStore::records().
/// - Others: of the databases.
absl::StatusOr<CopyReport> copy_orders(OrderStore& from, OrderStore& to,
                                       const CopyOrdersOptions& options = {});

// ---- The port ----

/// A table of orders, payments or changes, and the one for those of archived vouchers.
enum class Shelf : std::uint8_t { kCurrent, kArchive };

// What the records of a table are sorted by.
inline const OrderId& key_of(const Order& order) { return order.id; }
inline const std::string& key_of(const Payment& payment) { return payment.id; }
inline const std::int64_t& key_of(const OrderChange& change) { return change.position; }

struct ArchivedMark {
  VoucherId voucher = 0;
  std::int64_t archived_at_ms = 0;  // since 1970 UTC
  bool is_deleted = false;          // as in ArchivedVoucher

  friend bool operator==(const ArchivedMark&, const ArchivedMark&) = default;
};

/// A lane above 0 (LaneStore).
struct LaneRecord {
  std::int64_t lane = 0;
  std::int64_t epoch = 0;
  std::int64_t checkpoint = 0;
  std::int64_t revision = 0;
  std::map<std::int64_t, std::int64_t> reserved_ids = {};  // the greatest counter of each day

  friend bool operator==(const LaneRecord&, const LaneRecord&) = default;
};

/// What a database has besides orders, payments and changes. Lists are in ascending order.
struct SaleRecords {
  DatabaseState state = {};        // with the session 0
  std::int64_t last_position = 0;  // as PaymentStore::last_position()
  std::vector<VoucherVersion> versions = {};
  std::vector<VoucherVersion> archived_versions = {};
  std::vector<ArchivedMark> archived_vouchers = {};
  std::map<VoucherId, std::int64_t> live = {};             // as OrderStore::count_live()
  std::map<std::int64_t, std::int64_t> reserved_ids = {};  // the greatest counter of each day
  std::vector<LaneRecord> lanes = {};
  std::map<VoucherId, std::int64_t> voucher_lanes = {};  // of those that were put on one
  std::vector<MovedPieces> moved_pieces = {};

  friend bool operator==(const SaleRecords&, const SaleRecords&) = default;
};

/// Reads and writes the records of a database as they are. Thread-safe. Errors, durability and atomicity are
/// those of OrderStore. Records are in ascending order of their ids (of payments, as bytes) or positions.
class RecordStore {
 public:
  virtual ~RecordStore() = default;

  // The first records behind one, at most `count_max`.
  virtual absl::StatusOr<std::vector<Order>> read_orders(Shelf shelf, OrderId after,
                                                         std::size_t count_max) = 0;
  virtual absl::StatusOr<std::vector<Payment>> read_payments(Shelf shelf, const std::string& after,
                                                             std::size_t count_max) = 0;
  virtual absl::StatusOr<std::vector<OrderChange>> read_changes(Shelf shelf, std::int64_t after,
                                                                std::size_t count_max) = 0;
  virtual absl::StatusOr<SaleRecords> read_sale() = 0;
  /// Returns how many records the six tables have.
  virtual absl::StatusOr<std::int64_t> count() = 0;

  // Remove records, as far as they are there, and then add others.
  virtual absl::Status replace(Shelf shelf, std::span<const Order> removed,
                               std::span<const Order> added) = 0;
  virtual absl::Status replace(Shelf shelf, std::span<const Payment> removed,
                               std::span<const Payment> added) = 0;
  virtual absl::Status replace(Shelf shelf, std::span<const OrderChange> removed,
                               std::span<const OrderChange> added) = 0;
  virtual absl::Status replace_sale(const SaleRecords& sale) = 0;

  /// Calls `check` with the records while no batch can be written. If it is OK, raises the epoch and
  /// gives the database this identity.
  virtual absl::Status close(absl::FunctionRef<absl::Status(const SaleRecords&)> check,
                             const std::string& identity) = 0;
};

/// As copy_orders() between the databases with these records.
absl::StatusOr<CopyReport> copy_records(RecordStore& from, RecordStore& to,
                                        const CopyOrdersOptions& options = {});

}  // namespace rushgate
