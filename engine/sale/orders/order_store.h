// Where vouchers and orders are kept for good: a port. The keyspace decides who gets what; this
// records it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order.h"
#include "engine/sale/orders/portions.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// What became of one order of a batch.
struct OrderResult {
  enum class Kind : std::uint8_t {
    kStored,         // now
    kAlreadyStored,  // the same order under the same id: a redelivery
    kRefused,  // it can never be stored: the user is at his limit, or its id belongs to another
               // order
  };

  Kind kind = Kind::kStored;
  std::string reason = {};  // why it was refused
};

/// Returns "stored", "already stored" or "refused".
std::string_view order_result_name(OrderResult::Kind kind);

/// How a database stands to the keyspace that admits its orders. A keyspace can lose the newest of
/// its writes (a Redis that was restored from a snapshot, an old directory next to a newer
/// database). The epoch and the checkpoint are what finds that out (docs/internals.md, section 13).
struct DatabaseState {
  std::string identity;         // drawn when the database was created: 16 hex digits
  std::int64_t epoch = 0;       // raised by each fence()
  std::int64_t checkpoint = 0;  // the greatest recorded one; the keyspace must have it too
};

/// Under which a batch is written.
struct BatchFence {
  std::int64_t epoch = 0;       // as it was before the batch was last seen in the keyspace
  std::int64_t checkpoint = 0;  // drawn for the batch; recorded with it
};

/// Which orders; all that are given must hold. In ascending order of ids.
struct OrderFilter {
  std::optional<UserId> user = {};
  std::optional<VoucherId> voucher = {};
  std::optional<OrderStatus> status = {};
  OrderId after = 0;  // only ids above it
  std::size_t count_max = 1'000;
};

/// Thread-safe. A call that fails has changed nothing. Failures of write() differ by their code.
/// kInvalidArgument: one of the orders is at fault, and the others may be written without it.
/// kAborted: a fence() came between, see BatchFence. Any other (busy, disk full, I/O error, no
/// connection, damage, a defect) is no order's fault: all of them are worth writing again once the
/// cause is mended. So is whatever write() throws.
class OrderStore {
 public:
  virtual ~OrderStore() = default;

  // ---- Orders ----

  /// Stores a batch and the fence's checkpoint in one transaction, on the disk when it returns; one
  /// result per order. Refuses an order whose user already has `limit` live orders of its voucher,
  /// an order of a voucher that has no version here, and an order beyond the voucher's stock: the
  /// greatest of the version in force and of those pending. kAborted if the database's epoch is not
  /// the fence's.
  virtual absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                         const BatchFence& fence) = 0;

  virtual absl::StatusOr<std::optional<Order>> find(OrderId id) = 0;
  virtual absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) = 0;
  /// The greatest id below `below`; 0 if there is none. One look into an index.
  virtual absl::StatusOr<OrderId> greatest_id(OrderId below) = 0;
  /// Returns the number of live orders of a voucher. One look into a table of counts.
  virtual absl::StatusOr<std::int64_t> count_live(VoucherId voucher) = 0;
  /// Returns the vouchers with orders, published or not, in ascending order. One index lookup each.
  virtual absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders() = 0;
  /// Returns kDataLoss with the first problems if what is stored contradicts itself, or is no
  /// longer where others would look for it. Reads everything, and blocks no other call meanwhile.
  virtual absl::Status check_integrity() = 0;

  // ---- The keyspace ----

  virtual absl::StatusOr<DatabaseState> state() = 0;
  /// Raises the epoch, so that every batch read before is refused, and returns the state after it.
  virtual absl::StatusOr<DatabaseState> fence() = 0;
  /// Raises the checkpoint to `checkpoint`, if it is below.
  virtual absl::Status record_checkpoint(std::int64_t checkpoint) = 0;
  /// Raises the greatest reserved counter of order ids of `day` (days since 1970) to `above`, if it
  /// is below, and then by `count`. Returns it. So no two calls reserve the same counter: the
  /// caller has the last `count` up to what it got. With the count 0 nothing is recorded. May
  /// forget the days before the last two.
  virtual absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                                   std::int64_t count) = 0;

  // ---- Vouchers ----

  /// Records `version` as pending: its number must be one above the voucher's highest.
  virtual absl::Status record_pending(const VoucherVersion& version) = 0;
  /// Ends the pending state of a version. Doing it again with the same state is no error.
  virtual absl::Status settle(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                              const std::string& reason) = 0;
  /// Returns every version of a voucher, in order.
  virtual absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) = 0;
  /// Every version that is pending, in order of voucher and version.
  virtual absl::StatusOr<std::vector<VoucherVersion>> pending() = 0;
  /// The version with the highest number.
  virtual absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher) = 0;
  /// The version with the highest number of those applied: what is on sale.
  virtual absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher) = 0;
  /// Every voucher as it is on sale, in order of ids.
  virtual absl::StatusOr<std::vector<VoucherVersion>> all_applied() = 0;
};

// ---- For implementations: errors and reasons in the same words everywhere ----

/// Returns the kAborted error of write() for a batch of another epoch.
absl::Status stale_batch(const BatchFence& fence, std::int64_t epoch);
/// Why a voucher with `live` orders takes no further one; nothing if it does. `stock` is what
/// write() compares with, nothing if the voucher has no version.
std::optional<std::string> voucher_excess(VoucherId voucher, std::int64_t live,
                                          std::optional<std::int64_t> stock);

/// Did write() fail by the fault of one of its orders?
inline bool is_fault_of_an_order(const absl::Status& status) {
  return absl::IsInvalidArgument(status);
}

/// Visits every order that `filter` asks for, in ascending order of ids and in portions of
/// filter.count_max.
absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions = do_nothing);

}  // namespace rushgate
