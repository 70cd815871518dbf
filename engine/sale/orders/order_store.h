// Where orders are kept for good: a port. The keyspace admits orders; this records them. VoucherStore
// (engine/sale/vouchers/voucher_store.h) is the port for vouchers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

class VoucherStore;

/// The result of writing one order.
struct OrderResult {
  enum class Kind : std::uint8_t {
    kStored,         // by this call
    kAlreadyStored,  // before, under the same id: a redelivery
    kRefused,  // it can never be stored: it breaks a limit, or its id belongs to another order
  };

  Kind kind = Kind::kStored;
  std::string reason = {};  // why it was refused
};

/// Returns "stored", "already stored" or "refused".
std::string_view order_result_name(OrderResult::Kind kind);

/// The state of a database compared with the keyspace that admits its orders. A keyspace can lose the
/// newest of its writes (a Redis that was restored from a snapshot, an old directory next to a newer
/// database). The epoch and the checkpoint detect it (docs/internals.md, section 13).
struct DatabaseState {
  std::string identity;         // drawn when the database was created: new_database_identity()
  std::int64_t epoch = 0;       // raised by each fence(); 1 at first
  std::int64_t checkpoint = 0;  // the greatest recorded one; the keyspace must have it too
};

/// The conditions under which a batch is written.
struct BatchFence {
  std::int64_t epoch = 0;       // as it was before the batch was last seen in the keyspace
  std::int64_t checkpoint = 0;  // drawn for the batch; recorded with it
  /// The stock of each published voucher of the batch, if the vouchers are in another store. Empty:
  /// write() reads it from OrderStore::vouchers(), in its transaction.
  std::optional<std::map<VoucherId, std::int64_t>> stock = {};

  /// Returns the stock of a voucher; empty if it was never published, or `stock` is empty.
  [[nodiscard]] std::optional<std::int64_t> stock_of(VoucherId voucher) const;
};

/// Selects orders. All conditions that are set must hold.
struct OrderFilter {
  std::optional<UserId> user = {};
  std::optional<VoucherId> voucher = {};
  std::optional<OrderStatus> status = {};
  OrderId after = 0;  // only ids above it
  std::size_t count_max = 1'000;
};

/// Keeps orders, and the state of the database. Thread-safe. A call that fails has changed nothing,
/// and a change is on the disk when its call returns. A database that is lost with its process
/// (MemoryOrderStore) is an exception to this alone.
///
/// An implementation needs the first five methods. The others have defaults that use them. A database
/// with an index or with vouchers overrides some.
///
/// Errors of write() differ by their code. kInvalidArgument: one of the orders is at fault, and the
/// others may be written without it. kAborted: the epoch is another one. Any other (busy, disk full,
/// I/O error, no connection, damage, a defect) is no order's fault: the caller writes all of them
/// again later. An exception counts as such an error.
class OrderStore {
 public:
  virtual ~OrderStore() = default;

  /// Stores a batch, and raises the checkpoint to the fence's, in one transaction. Returns a result
  /// for each order; check_order() decides. kAborted if the database's epoch is not the fence's.
  virtual absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                         const BatchFence& fence) = 0;
  /// Returns the orders that `filter` selects, in ascending order of ids, at most
  /// filter.count_max.
  virtual absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) = 0;
  /// Returns the state. The identity of a database never changes.
  virtual absl::StatusOr<DatabaseState> state() = 0;
  /// Raises the epoch by 1, so that write() refuses every batch read before. Returns the state after
  /// it.
  virtual absl::StatusOr<DatabaseState> fence() = 0;
  /// Raises the greatest reserved counter of order ids of `day` (days since 1970) to `above`, if it
  /// is below, and then by `count`. Returns it. No two calls reserve the same counter: the caller has
  /// the last `count` up to the result. With the count 0 nothing is recorded. May forget the days
  /// before the last two.
  virtual absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                                   std::int64_t count) = 0;

  // ---- With defaults ----

  /// Returns the store of the vouchers in the same database, whose stock write() then reads in its
  /// transaction. Default: null, it keeps none.
  virtual VoucherStore* vouchers() { return nullptr; }
  /// Returns the order with this id; empty if there is none. Default: one list().
  virtual absl::StatusOr<std::optional<Order>> find(OrderId id);
  /// Returns the greatest id below `below`; 0 if there is none. Default: a search with at most 64
  /// calls of list() for one order.
  virtual absl::StatusOr<OrderId> greatest_id(OrderId below);
  /// Returns the number of live orders of a voucher. Default: lists them.
  virtual absl::StatusOr<std::int64_t> count_live(VoucherId voucher);
  /// Returns the vouchers with orders, published or not, in ascending order. Default: lists all
  /// orders.
  virtual absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders();
  /// Raises the checkpoint to `checkpoint`, if it is below. Default: writes an empty batch.
  virtual absl::Status record_checkpoint(std::int64_t checkpoint);
  /// Returns kDataLoss with the first problems if the database contradicts itself, or its file was
  /// moved. May read everything, and blocks no other call meanwhile. Default: OK.
  virtual absl::Status check_integrity() { return absl::OkStatus(); }
};

// ---- For implementations: the same rules, errors and reasons everywhere ----

/// Returns a new identity for DatabaseState: 16 hex digits.
std::string new_database_identity();
/// Returns the kAborted error of write() for a batch of another epoch.
absl::Status stale_batch(const BatchFence& fence, std::int64_t epoch);

/// Returns true if the order counts against limits and stock.
inline bool is_live(const Order& order) { return order.status == OrderStatus::kCreated; }

/// The contents of a database as far as they decide on one order, earlier orders of its batch
/// included.
struct OrderRivals {
  std::optional<Order> same_id = {};       // the order that is stored under the same id
  std::int64_t live_of_user = 0;           // live orders of its user and voucher
  std::int64_t live_of_voucher = 0;        // live orders of its voucher
  std::optional<std::int64_t> stock = {};  // of its voucher; empty: never published
};
/// Decides on an order of a batch: kStored means that write() must insert it. Refuses an order
/// without a positive id, one whose id belongs to another order, a live order whose user has `limit`
/// live orders of the voucher already, and a live order of a voucher that was never published or has
/// as many live orders as stock.
OrderResult check_order(const Order& order, const OrderRivals& rivals);

/// Returns true if write() failed because of one of its orders.
inline bool is_fault_of_an_order(const absl::Status& status) {
  return absl::IsInvalidArgument(status);
}

/// Visits every order that `filter` selects, in ascending order of ids and in portions of
/// filter.count_max.
absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions = do_nothing);

}  // namespace rushgate
