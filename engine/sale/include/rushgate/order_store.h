// The ports for a database of your own: OrderStore keeps orders for good, VoucherStore the versions
// of vouchers. The keyspace admits orders, and these record them. To read orders, begin with Order,
// OrderFilter and for_each_order().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/copy_portion.h>
#include <rushgate/order.h>
#include <rushgate/order_rules.h>
#include <rushgate/order_status.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Keeps every version of every voucher. Thread-safe. A call that fails has changed nothing, and a
/// change is on the disk when its call returns.
///
/// An implementation needs the first four methods. The others have defaults that read through
/// versions() and all_versions().
class VoucherStore {
 public:
  virtual ~VoucherStore() = default;

  /// Records `version` as pending, and ignores its state and reason. kFailedPrecondition: its
  /// number is not one above the voucher's highest.
  virtual absl::Status record_pending(const VoucherVersion& version) = 0;
  /// Ends the pending state of a version: it was applied, or refused for `reason`. A repetition
  /// with the same state changes nothing. Errors:
  /// - kNotFound: there is no such version.
  /// - kFailedPrecondition: it has the other state.
  /// - kInvalidArgument: `state` is pending.
  virtual absl::Status resolve(VoucherId voucher, std::int64_t version, VoucherVersion::State state,
                               const std::string& reason) = 0;
  /// Returns every version of a voucher, in ascending order.
  virtual absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId voucher) = 0;
  /// Returns every version of every voucher, in order of voucher and version.
  virtual absl::StatusOr<std::vector<VoucherVersion>> all_versions() = 0;

  // ---- With defaults ----

  /// Returns every pending version, in order of voucher and version.
  virtual absl::StatusOr<std::vector<VoucherVersion>> pending();
  /// Returns the version with the highest number.
  virtual absl::StatusOr<std::optional<VoucherVersion>> latest(VoucherId voucher);
  /// Returns the version in force: of the applied ones, that with the highest number.
  virtual absl::StatusOr<std::optional<VoucherVersion>> applied(VoucherId voucher);
  /// Returns the version in force of every voucher that has one, in order of vouchers.
  virtual absl::StatusOr<std::vector<VoucherVersion>> all_applied();
};

struct BatchFence;

/// The state of a database compared with the keyspace that admits its orders. A keyspace can lose
/// the newest of its writes (a Redis that was restored from a snapshot, an old directory next to a
/// newer database). The epoch and the checkpoint detect it (docs/how-a-sale-works.md).
struct DatabaseState {
  std::string identity;         // drawn when the database was created: new_database_identity()
  std::int64_t epoch = 0;       // raised by each fence(); 1 at first
  std::int64_t checkpoint = 0;  // the greatest recorded one; the keyspace must have it too
  /// Raised by each batch that is recorded: to its checkpoint, or by 1 if that is not above. Batches are
  /// drawn in one order and recorded in another, so this tells what the checkpoint cannot: a database
  /// with a smaller one has lost a batch. 0: the store keeps none, and the checkpoint stands for it.
  std::int64_t revision = 0;
  /// The number of the connection that writes, if the server behind a new one may have lost batches:
  /// one that took over is a replica that lagged. Raised whenever that is made anew. Always 0 where
  /// nothing can come between, as in a file.
  std::int64_t session = 0;

  /// Returns what the keyspace is told about the recorded batches.
  [[nodiscard]] std::int64_t recorded() const { return revision != 0 ? revision : checkpoint; }
  /// Records a batch. Does not check its fence.
  void record(const BatchFence& fence);

  friend bool operator==(const DatabaseState&, const DatabaseState&) = default;
};

/// One of the copies of a database. Copies share its identity, and only one of them may be open.
struct DatabaseInstance {
  std::string id = {};  // the same in every process that opens this copy; empty: it is shared
  /// Where it is. A copy in the same place replaces the one that was there before, as a restored
  /// backup does: the former can no longer be written. Empty: unknown.
  std::string place = {};
  std::string name = {};  // for messages: the place, and the process
};

/// The conditions under which a batch is written.
struct BatchFence {
  std::int64_t epoch = 0;       // as it was before the batch was last seen in the keyspace
  std::int64_t checkpoint = 0;  // drawn for the batch; recorded with it
  std::int64_t session = 0;     // DatabaseState's, before the checkpoint was drawn
  int lane = 0;                 // whose state has the epoch, and gets the checkpoint
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

/// Selects stored orders, the newest first: those with the greatest ids.
struct OrderSearch {
  std::optional<UserId> user = {};
  std::optional<VoucherId> voucher = {};
  std::optional<OrderStatus> status = {};
  std::optional<std::string> reference = {};
  OrderId before = std::numeric_limits<OrderId>::max();  // only ids below it
  std::size_t count_max = 100;                           // at least 1
  /// The most orders to look at, where no index has the condition: of this voucher, or of all. It bounds
  /// the time of a search that finds nothing.
  std::size_t looked_at_max = 50'000;
};

/// A part of the orders that a search selects: those among which it looked.
struct FoundOrders {
  std::vector<Order> orders = {};  // the newest first
  /// OrderSearch::before of the next part; empty: this is the last one.
  std::optional<OrderId> next = {};
};

/// Called with a portion of orders; an error ends the reading with it.
using VisitPortion = absl::FunctionRef<absl::Status(std::span<const Order>)>;

/// How many orders are in each state, in the order of kOrderStatuses.
using OrderCounts = std::array<std::int64_t, kOrderStatuses.size()>;

/// Pieces of a voucher that is on several lanes, which were moved from one of them to another.
struct MovedPieces {
  VoucherId voucher = 0;
  int from = 0;
  int to = 0;
  std::int64_t pieces = 0;  // in all, since the voucher was published: it never decreases

  friend bool operator==(const MovedPieces&, const MovedPieces&) = default;
};

/// Keeps the lanes of a sale: parts of it with keyspaces of their own, which lose writes apart from each
/// other (docs/how-a-sale-works.md). Each has a DatabaseState. The state of the lane 0 is
/// OrderStore::state(). Errors, durability and atomicity are those of OrderStore. kNotFound: there is no
/// such lane.
class LaneStore {
 public:
  virtual ~LaneStore() = default;

  /// Returns how many lanes there are; 1 at first.
  virtual absl::StatusOr<int> count_lanes() = 0;
  /// Adds lanes until there are `count`, up to kLanesMax. Their epoch is 1.
  virtual absl::Status add_lanes(int count) = 0;
  /// Returns the state of a lane. The identity and the session are those of the database.
  virtual absl::StatusOr<DatabaseState> state_of(int lane) = 0;
  /// As OrderStore::fence(), of a lane.
  virtual absl::StatusOr<DatabaseState> fence_lane(int lane) = 0;
  /// As OrderStore::reserve_ids(), of a lane. Lanes do not share counters: counters_of_lane().
  virtual absl::StatusOr<std::int64_t> reserve_ids_of(int lane, std::int64_t day,
                                                      std::int64_t above, std::int64_t count) = 0;
  /// Returns the lane of a voucher; empty if it has none, and was never recorded. A voucher without one
  /// that was recorded, or is archived, is on the lane 0: it is older than the other lanes.
  virtual absl::StatusOr<std::optional<int>> lane_of(VoucherId voucher) = 0;
  /// Returns lane_of() of every voucher that has a lane.
  virtual absl::StatusOr<std::map<VoucherId, int>> voucher_lanes() = 0;
  /// Puts a voucher on a lane for good, unless it has one. Returns the one that it has then.
  virtual absl::StatusOr<int> put_on_lane(VoucherId voucher, int lane) = 0;

  /// Returns what was moved of a voucher between its lanes, in order of the lanes.
  virtual absl::StatusOr<std::vector<MovedPieces>> moved_pieces(VoucherId voucher) = 0;
  /// Records a number of moved pieces, if it is above the known one, and a batch of the lane `from`
  /// (DatabaseState::record()), in one transaction. kAborted as check_fence() says; kInvalidArgument as
  /// check_moved().
  virtual absl::Status record_moved(const MovedPieces& moved, const BatchFence& fence) = 0;
};

class PaymentStore;  // in <rushgate/payment_store.h>
class ArchiveStore;  // in <rushgate/archive_store.h>
class RecordStore;   // in <rushgate/copy_orders.h>

/// Keeps orders, and the state of the database. Thread-safe. A call that fails has changed nothing,
/// and a change is on the disk when its call returns. A database that is lost with its process
/// (MemoryOrderStore) is an exception to this alone.
///
/// An implementation needs the first five methods. The others have defaults that use them. A
/// database with an index or with vouchers overrides some.
///
/// Errors of write() differ by their code. kInvalidArgument: one of the orders is at fault, and the
/// others may be written without it. kAborted: the epoch or the session is another one. Any other (busy, disk
/// full, I/O error, no connection, damage, a defect) is no order's fault: the caller writes all of
/// them again later. An exception counts as such an error. After kUnavailable a change may have been
/// made nevertheless: a connection may break while the database commits.
class OrderStore {
 public:
  virtual ~OrderStore() = default;

  /// Stores a batch, and records it (DatabaseState::record()), in one transaction. Returns a result for
  /// each order; check_order() decides. kAborted as check_fence() says.
  virtual absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                         const BatchFence& fence) = 0;
  /// Returns the orders that `filter` selects, in ascending order of ids, at most
  /// filter.count_max.
  virtual absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) = 0;
  /// Returns the state. The identity changes only when copy_orders() moves the database.
  virtual absl::StatusOr<DatabaseState> state() = 0;
  /// Raises the epoch by 1, so that write() refuses every batch read before. Returns the state
  /// after it.
  virtual absl::StatusOr<DatabaseState> fence() = 0;
  /// Raises the greatest reserved counter of order ids of `day` (days since 1970) to `above`, if it
  /// is below, and then by `count`. Returns it. No two calls reserve the same counter: the caller
  /// has the last `count` up to the result. With the count 0 nothing is recorded. Forgets the days
  /// before the last two.
  virtual absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                                   std::int64_t count) = 0;

  // ---- With defaults ----

  /// Returns which copy of the database this is. While it is open, a sale refuses another copy on
  /// the same keyspace. Default: shared, as a database on a server is, which has no copies.
  virtual absl::StatusOr<DatabaseInstance> instance() { return DatabaseInstance{}; }
  /// Returns the store of the vouchers in the same database, whose stock write() then reads in its
  /// transaction. Default: null, it keeps none.
  virtual VoucherStore* vouchers() { return nullptr; }
  /// Returns the store of the payments and of the orders' changes in the same database. Default:
  /// null, it keeps none: vouchers that demand payment cannot be published.
  virtual PaymentStore* payments() { return nullptr; }
  /// Returns the archive of ended sales in the same database. find() and the payment port find
  /// archived orders too. Default: null, it keeps none: no sale can be archived.
  virtual ArchiveStore* archive() { return nullptr; }
  /// Returns the records of the same database, for copy_orders(). Default: null, it cannot be copied.
  virtual RecordStore* records() { return nullptr; }
  /// Returns the lanes in the same database. Default: null, it has the lane 0 alone.
  virtual LaneStore* lanes() { return nullptr; }
  /// Returns the lane to which this part of a database belongs. Default: 0.
  [[nodiscard]] virtual int lane() const { return 0; }
  /// As LaneStore::moved_pieces(). Default: none.
  virtual absl::StatusOr<std::vector<MovedPieces>> moved_pieces(VoucherId /*voucher*/) {
    return std::vector<MovedPieces>();
  }
  /// Returns false if the database has numbers as user ids only: the sale refuses names then.
  [[nodiscard]] virtual bool takes_user_names() const { return true; }
  /// Returns the order with this id; empty if there is none. Default: one list().
  virtual absl::StatusOr<std::optional<Order>> find(OrderId id);
  /// Returns the greatest id below `below`; 0 if there is none. Default: a search with at most 64
  /// calls of list() for one order.
  virtual absl::StatusOr<OrderId> greatest_id(OrderId below);
  /// Searches among the stored orders. A part may be empty, and others follow. Default: a search with
  /// list(), which reads more at a time the fewer orders there are.
  virtual absl::StatusOr<FoundOrders> search(const OrderSearch& search);
  /// Returns the pieces that orders of a voucher take from its stock. Default: lists them.
  virtual absl::StatusOr<std::int64_t> count_live(VoucherId voucher);
  /// Counts the orders of a voucher, or of all; archived ones are not counted. May read each of them, and
  /// blocks no other call meanwhile. Default: lists them.
  virtual absl::StatusOr<OrderCounts> count_by_status(std::optional<VoucherId> voucher);
  /// Returns the vouchers with orders, published or not, in ascending order. Default: lists all
  /// orders.
  virtual absl::StatusOr<std::vector<VoucherId>> vouchers_with_orders();
  /// Visits every order whose idempotency key is still its own at `time_ms` (since 1970 UTC), in
  /// portions and in any order. Archived orders are among them. One that is archived meanwhile may
  /// be visited twice. Default: lists all orders, and then those of the archive.
  virtual absl::Status visit_keys(std::int64_t time_ms, VisitPortion visit);
  /// Records a batch without orders. Errors: as write(). Default: writes an empty batch.
  virtual absl::Status record_checkpoint(const BatchFence& fence);
  /// Copies the database, as it is at one moment of the call, to a new file. Calls `at_that_moment`
  /// while no change is committed; if it fails, so does the copy. Reads and writes go on otherwise.
  /// The copy is on the disk when the call returns. `after` is called while nothing waits for it.
  /// Default: kUnimplemented.
  virtual absl::Status copy_to(const std::filesystem::path& file,
                               absl::FunctionRef<absl::Status()> at_that_moment,
                               AfterPortion after);
  /// Returns kDataLoss with the first problems if the database contradicts itself, or its file was
  /// moved. May read everything, and blocks no other call meanwhile. Default: OK.
  virtual absl::Status check_integrity() { return absl::OkStatus(); }
};

/// The two stores of a sale, which must outlive it. Converts from an order store that keeps the
/// vouchers too (OrderStore::vouchers()). With one that does not, each use of the vouchers returns
/// kFailedPrecondition.
struct SaleStores {
  SaleStores(OrderStore& both);  // NOLINT(google-explicit-constructor)
  SaleStores(OrderStore& order_store, VoucherStore& voucher_store)
      : orders(order_store), vouchers(voucher_store) {}

  /// Calls OrderStore::write(). If the vouchers are elsewhere, reads their stock for it first. The
  /// batch must have been read from the keyspace before: then each of its orders was admitted under
  /// a version that is recorded by now. kInternal: the store returned more or fewer results.
  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> batch,
                                                 BatchFence fence) const;

  /// Calls PaymentStore::apply() in the same way. The store must have payments.
  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 BatchFence fence) const;

  OrderStore& orders;
  VoucherStore& vouchers;
};

/// A lane of a sale: what its workers need, and who looks into its keyspace.
struct SaleLane {
  int number = 0;
  SaleKeys keys = {};
  SaleStores stores;  // of this lane alone
};

/// Called between two portions; an error ends the reading with it.
using BetweenPortions = absl::FunctionRef<absl::Status()>;
inline absl::Status do_nothing() { return absl::OkStatus(); }

/// Visits every order that `filter` selects, in ascending order of ids and in portions of
/// filter.count_max.
absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions = do_nothing);

// ---- For implementations: the same rules, errors and reasons everywhere ----

/// Returns a new identity for DatabaseState: 16 hex digits.
std::string new_database_identity();
/// Returns the error of write() for a batch of another epoch or session (kAborted), and that of check_open().
absl::Status check_fence(const BatchFence& fence, const DatabaseState& state);
/// Returns kFailedPrecondition if no sale may use the database: copy_orders() has moved it, or has not
/// finished it yet.
absl::Status check_open(const DatabaseState& state);

/// Returns the kNotFound error of a lane that the database does not have.
absl::Status no_lane_error(int lane);
/// Returns kInvalidArgument if no such pieces can have been moved, or the fence is not that of the lane
/// from which they came.
absl::Status check_moved(const MovedPieces& moved, const BatchFence& fence);

/// Returns true if write() failed because of one of its orders.
inline bool is_fault_of_an_order(const absl::Status& status) {
  return absl::IsInvalidArgument(status);
}

}  // namespace rushgate
