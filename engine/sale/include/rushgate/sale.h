// A flash sale: publishes vouchers, admits buyers, and reports orders. Works on every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

// ---- Buying ----

/// The outcome of an admission.
enum class Outcome : std::uint8_t {
  kAccepted,         // there is an order; it will be stored
  kSoldOut,          // fewer pieces are left than were wanted
  kLimitReached,     // this user's, over the whole sale
  kDayLimitReached,  // this user's, today
  kNotStarted,
  kEnded,
  kUnknownVoucher,
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // it may have been accepted: repeat it with the same idempotency key, or query
                    // the order's status
  kKeyReused,       // the idempotency key was used with another user, voucher or quantity
  kRefused,         // by a rule of a custom admission script
  kFailed,          // the keyspace refused, and detail gives the reason; nothing was done
};

/// Returns "accepted", "sold out", …
std::string_view outcome_name(Outcome outcome);

struct BuyRequest {
  VoucherId voucher = 0;
  UserId user = {};  // a number, or UserId("name")
  /// The idempotency key, if not empty; at most Order::kIdempotencyKeyBytesMax bytes. Within
  /// SaleOptions::request_ttl_ms, the same user, voucher and key get the order that was accepted
  /// first, also after the keyspace was lost, and after the voucher was archived. A request that was
  /// refused is decided from scratch. With another user, voucher or quantity the key gets
  /// kKeyReused, so it must be unique in the whole sale.
  std::string idempotency_key = {};
  std::int64_t quantity = 1;  // pieces, 1 to kQuantityMax; all or none are sold
  /// Kept with the order, for the caller; at most Order::kReferenceBytesMax bytes. The reference of
  /// a repeated request is ignored.
  std::string reference = {};

  static constexpr std::int64_t kQuantityMax = Order::kQuantityMax;
};

struct BuyResult {
  Outcome outcome = Outcome::kOverloaded;
  /// The accepted order. With kOutcomeUnknown: the order's id if it was accepted. With
  /// kLimitReached and kDayLimitReached: an order that the user has
  /// (SaleOptions::names_order_at_limit), or 0.
  OrderId order = 0;
  /// True if `order` was accepted before, with the same idempotency key.
  bool is_repeated = false;
  /// If `is_repeated`: the order's present status, since it may have been paid, cancelled or refunded
  /// meanwhile. A queued order counts as the database will store it. Empty if the order is a dead
  /// letter or was deleted, and if the order database or the keyspace cannot be read.
  std::optional<OrderStatus> status = {};
  /// Set for kOverloaded, kUnavailable, kOutcomeUnknown and kFailed, and for the codes of a custom
  /// admission script.
  std::string detail = {};
  /// From decide_all(): the order database has more, which complete() reads.
  bool is_partial = false;
};

/// A Lua script of your own that decides on one user in place of the sale's, with its keys,
/// arguments and codes. Existing scripts fit unchanged if their keys are those of SaleKeys.
///
/// The script keeps the stock and the limit per user. If it accepts, it must in the same run
/// - take one from the stock (`<stock>`),
/// - add the user to the buyers (`<buyers>`), a set of users,
/// - append one entry to the order stream (`<stream>`), with the fields `userId`, `voucherId` and
///   `id`, and without MAXLEN or MINID. A field `limit` is the limit per user. The fields
///   `admitted`, `entry` and `no_stock` are the worker's.
/// If it refuses, it must leave all three as they are. It may keep other keys, with rules of its
/// own. A rebuild does not restore them, and the audit does not know their rules.
///
/// The sale runs its own part around the script, in the same atomic run. That part checks the
/// window and the idempotency key, and refuses while a rebuild has closed the voucher. It calls the
/// script only if the voucher has a stock key.
///
/// After the script has returned, the sale compares the three keys with the code. If they
/// contradict each other, the result is kOutcomeUnknown, and its detail names the fault. On Redis
/// the writes of such a run stay. So test the script first: check_admission() in
/// <rushgate/testing_rush.h>.
///
/// With a custom script, vouchers with a limit in total or per day cannot be published. A limit per
/// user other than 1 needs `counts_buyers`.
struct CustomAdmission {
  /// The meaning of a code that the script returns.
  struct Code {
    std::int64_t code = 0;
    /// kAccepted, or a refusal: kSoldOut, kLimitReached, kDayLimitReached, kNotStarted, kEnded,
    /// kUnknownVoucher, kOverloaded or kRefused.
    Outcome outcome = Outcome::kAccepted;
    std::string detail = {};  // becomes BuyResult::detail
  };

  static constexpr std::size_t kTextBytesMax = 64 * 1024;
  static constexpr std::size_t kWordsMax = 64;  // the most keys, arguments and codes, of each

  /// The Lua source. The script returns one of the codes, as an integer. The first line is no `#!`.
  std::string text = {};

  /// The script's KEYS and ARGV. `<voucher>`, `<user>` (a number or a name) and `<order>` stand for
  /// ids, as in "coupon:user:<user>". `<terms>`, `<stock>`, `<buyers>` and `<stream>` stand for keys of
  /// the sale. All other keys that the script writes must be named. On a Redis Cluster all must share a
  /// slot.
  std::vector<std::string> keys = {};
  std::vector<std::string> arguments = {};

  std::vector<Code> codes = {};

  /// The script keeps any limit per user. The field `counted` of `<terms>` gives the type of the
  /// buyers: a set ("0"), or a hash of counts ("1"). The field `per_user` has the limit; 0: none.
  /// The script also writes that limit into the entry, as the field `limit`.
  bool counts_buyers = false;

  /// Returns kInvalidArgument, naming the fault, if the declaration is invalid. Does not read the
  /// Lua source.
  [[nodiscard]] absl::Status check() const;
};

// ---- Waiting ----

/// The outcome of a request to wait for a sold-out voucher.
enum class WaitOutcome : std::uint8_t {
  kWaiting,        // the user waits, perhaps since an earlier call
  kFree,           // nothing was done: pieces are free, so buy one
  kFull,           // Voucher::waiting_max users are waiting
  kLimitReached,   // the user may not buy any more
  kNotOnSale,      // not started, or ended
  kNoWaitingList,  // Voucher::waiting_max is 0
  kUnknownVoucher,
  kOverloaded,   // nothing was done; trying again may help
  kUnavailable,  // the keyspace is closed or unreachable
  kFailed,       // the keyspace refused, and detail gives the reason
};
/// Returns "waiting", "free", …
std::string_view wait_outcome_name(WaitOutcome outcome);

struct WaitResult {
  WaitOutcome outcome = WaitOutcome::kOverloaded;
  /// The order that the user will get. Until then its state is unknown.
  OrderId order = 0;
  std::int64_t place = 0;  // among the waiting users, from 1
  std::string detail = {};
};

// ---- Paying, cancelling, refunding ----

/// The outcome of a change of an order.
enum class ChangeOutcome : std::uint8_t {
  kDone,            // the order is changed, by this call or by the same call before
  kTooLate,         // another change came first; see ChangeResult::status
  kRefused,         // by the rule that detail gives; nothing was done
  kUnknownOrder,    // no such order was accepted
  kOverloaded,      // nothing was done; trying again may help
  kUnavailable,     // the keyspace is closed or unreachable; nothing was done
  kOutcomeUnknown,  // it may have been done: repeat it
  kFailed,          // a store refused, and detail gives the reason; nothing was done
};
/// Returns "done", "too late", …
std::string_view change_outcome_name(ChangeOutcome outcome);

struct ChangeResult {
  ChangeOutcome outcome = ChangeOutcome::kOverloaded;
  bool is_repeated = false;  // kDone or kTooLate: the same call had this outcome before
  /// The order's state after kDone and kTooLate.
  OrderStatus status = OrderStatus::kUnpaid;
  std::string detail = {};  // the reason, or the change that came first
};

struct PayRequest {
  OrderId order = 0;
  std::string payment = {};       // its id: 1 to Payment::kIdBytesMax bytes, without spaces
  std::int64_t amount_cents = 0;  // price × quantity of the order
};

// ---- Orders ----

/// The state of an order.
struct OrderState {
  enum class Kind : std::uint8_t {
    kUnknown,  // no such order was accepted
    kQueued,   // accepted, not yet stored
    kCreated,  // stored
    kFailed,   // among the dead letters
  };
  Kind kind = Kind::kUnknown;
  std::optional<Order> order = {};  // set if created; from orders_of() always
  std::string reason = {};          // if failed
};

/// Returns "unknown", "queued", "created" or "failed".
std::string_view order_state_name(OrderState::Kind kind);

/// One entry of the order stream, as XRANGE and XREADGROUP return it.
struct OrderEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;
  bool deleted = false;  // XREADGROUP of history: the entry is gone, its id is still pending

  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
};

/// An order that could not be stored.
struct DeadLetter {
  std::string id;     // its own id, in the stream of dead letters
  std::string entry;  // the order's id, in the order stream
  std::string reason;
  OrderEntry order;               // as it was admitted, readable or not
  bool is_without_stock = false;  // the order takes no stock and is no buyer's
};

/// A discarded dead letter. Its order stays admitted, and is never stored.
struct DiscardedLetter {
  std::string id;                    // its own id, in the stream of discarded letters
  std::int64_t discarded_at_ms = 0;  // by the keyspace's time, since 1970 UTC
  std::string why;                   // as the caller gave it
  DeadLetter letter;

  /// Returns why the order is not stored, and why the letter was discarded.
  [[nodiscard]] std::string reason() const { return letter.reason + "; discarded: " + why; }
};

/// The sale of one voucher at one moment, in pieces.
struct VoucherAudit {
  VoucherId voucher = 0;
  std::int64_t published = 0;
  std::int64_t free = 0;
  std::int64_t admitted = 0;    // summed from the buyers' records, independently of the stock
  std::int64_t given_back = 0;  // to the stock, with the buyer's record kept
  // admitted = created + queued + dead + discarded, except that some discarded ones may never have
  // been admitted.
  std::int64_t created = 0;    // of orders in the database
  std::int64_t queued = 0;     // of orders in the stream that are not stored yet
  std::int64_t dead = 0;       // of dead letters
  std::int64_t discarded = 0;  // of discarded dead letters
  std::int64_t withheld = 0;   // of ended orders, neither in the stock nor a buyer's
  std::int64_t unpaid = 0;     // of those admitted
  std::int64_t ended = 0;      // orders, not pieces: they were cancelled or refunded
};

/// The money of a sale, in cents: received = kept + due + refunded.
struct MoneyAudit {
  std::int64_t received = 0;
  std::int64_t kept = 0;
  std::int64_t due = 0;  // to be refunded
  std::int64_t refunded = 0;

  friend bool operator==(const MoneyAudit&, const MoneyAudit&) = default;
};

/// The result of an audit. A value type.
struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  MoneyAudit money = {};                  // of the payments in the database
  std::vector<std::string> repairs = {};  // by repair()
  std::vector<std::string> problems;      // each names the voucher, and the user or order
  /// Consumers of other systems, dead letters without stock, and vouchers that are being rebuilt or
  /// archived.
  std::vector<std::string> warnings;

  [[nodiscard]] bool passed() const { return problems.empty(); }
};
/// How far an audit is. It begins anew if orders changed during a pass.
struct AuditProgress {
  int pass = 1;
  std::int64_t vouchers = 0;
  std::int64_t vouchers_checked = 0;
  std::int64_t orders = 0;  // about as many as there are: pieces admitted, as the keyspace counts
  std::int64_t orders_checked = 0;  // in the database
};
/// Called by audit() on its thread, before the first voucher, and after each portion of orders and each
/// voucher.
using OnAuditProgress = std::function<void(const AuditProgress& progress)>;
/// Writes "audit passed" or "audit failed", then each problem and each warning on a line.
std::ostream& operator<<(std::ostream& out, const AuditReport& report);

// ---- The sale ----

struct SaleOptions {
  SaleKeys keys = {};
  /// How long an idempotency key stands for its order, at most kRequestTtlMsMax (100 years).
  std::int64_t request_ttl_ms = std::int64_t{7} * 24 * 60 * 60 * 1'000;
  static constexpr std::int64_t kRequestTtlMsMax = 3'155'760'000'000;
  std::int64_t id_block_size = 1'024;
  /// The most buyers that may be converted when a limit per user is raised from 1. One script turns
  /// their set into a hash of counts. With more buyers the change is refused. On the embedded
  /// engine the script needs about 150 bytes per buyer (EngineOptions::script_memory_bytes_max). No
  /// other request is served meanwhile.
  std::int64_t buyers_converted_max = 1'000'000;
  /// Adopts another system's data under the same keys: its order stream, and a voucher's stock and
  /// buyers when the voucher is first published. Voucher::stock must then be the sum of both.
  /// Each buyer gets an order row, unless the order stream brings one.
  bool adopt = false;
  /// Lets voucher() cache versions: in the keyspace, and up to this number in the process. For
  /// pages that are shown often, or a slow database. All processes that publish must set it too. 0:
  /// each call reads the database.
  std::size_t voucher_copies_max = 0;
  /// Names an order that the user has in results of kLimitReached and kDayLimitReached. The process
  /// remembers its newest 65,536 orders (1.5 MiB). For others a refusal looks into an index of the
  /// database. Queued orders that are not remembered are not named.
  bool names_order_at_limit = false;
  /// Decides in place of the sale's own admission script.
  std::optional<CustomAdmission> admission = {};
  /// Options of the sale's own client: the method of waiting, and the treatment of a full queue.
  /// The client uses RESP2 and subscribes to nothing.
  ClientOptions client = {};
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

/// Options of Sale::archive().
struct ArchiveOptions {
  /// If it is not empty, the sale's dead letters are discarded, with this reason. Otherwise a sale that
  /// has some is not archived.
  std::string discard_dead_letters = {};
};

/// Sells vouchers on a keyspace, with an order database behind it. Thread-safe. Does not own its
/// arguments, which must outlive it.
class Sale {
 public:
  /// Claims the keyspace for the database, rebuilds lost vouchers, and finishes interrupted work.
  /// Later each new connection of the backend is checked in the same way before it admits anything.
  /// Errors:
  /// - kFailedPrecondition: the keyspace belongs to another database or another system.
  /// - kInvalidArgument: the option that the message names is out of range, or the custom admission
  ///   script is not valid Lua.
  /// - kPermissionDenied: the server refuses commands or keys that the sale or its workers need. The
  ///   message names them.
  /// - kUnimplemented: the server belongs to a Redis Cluster.
  ///
  /// On a server, logs a warning for each setting with which orders may be lost (docs/production.md).
  static absl::StatusOr<std::unique_ptr<Sale>> open(Backend& backend, const SaleStores& stores,
                                                    SaleOptions options = {});
  ~Sale();
  Sale(const Sale&) = delete;
  Sale& operator=(const Sale&) = delete;

  // ---- Vouchers ----

  /// Puts `voucher` on sale, or changes its terms: a new version. Publishing the same terms again
  /// changes nothing. Sold pieces stay sold: free stock grows or shrinks by the difference between
  /// the published stocks.
  ///
  /// With `expected_version` (0: never published), publishes only if that version is in force.
  /// Otherwise the last of several concurrent calls wins. A new limit per day, or another UTC
  /// offset, closes the sale for as long as a rebuild takes.
  ///
  /// Errors:
  /// - kInvalidArgument: the field that the message names is invalid, or the custom admission
  ///   script does not keep that limit of the voucher.
  /// - kAlreadyExists: another version than the expected one is in force.
  /// - kFailedPrecondition: more is sold than the new stock, too many buyers would have to be
  ///   converted, or the keys belong to another sale or system.
  /// - kAborted: another process is rebuilding the voucher. Call again later.
  /// - kUnavailable: another change did not end while this one waited. Or the version is in force,
  ///   but cached copies of the one before may stay (voucher_copies_max). Call again in both cases.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {});
  /// Publishes `voucher` unless its id was ever published, even if that sale is archived by now. Use
  /// it in a program that reads its vouchers from a file at each start: publish() would take back the
  /// stock that add_stock() added since, and reopen a sale that close() ended. Returns true if this
  /// call published it. Errors: as publish().
  absl::StatusOr<bool> publish_if_new(const Voucher& voucher);
  /// Adds `delta` pieces to the stock of a voucher; removes some if it is negative. Keeps concurrent
  /// changes. kNotFound: the voucher was never on sale. kFailedPrecondition: it is archived. Other
  /// errors: as publish().
  absl::Status add_stock(VoucherId voucher, std::int64_t delta);
  /// Ends the sale of a voucher now, by the keyspace's time. Errors: as add_stock().
  absl::Status close(VoucherId voucher);
  /// Returns the version in force; nothing if the voucher was never on sale.
  ///
  /// With SaleOptions::voucher_copies_max, may return a version that another process has replaced,
  /// until that process's message arrives. If that process died before it sent the message: for
  /// little more than a minute.
  absl::StatusOr<std::optional<VoucherVersion>> voucher(VoucherId voucher);
  /// Returns the terms in force, the free stock and the number admitted; nothing if the voucher was
  /// never on sale. Reads the terms as voucher() does and, in one request, the keyspace.
  absl::StatusOr<std::optional<VoucherSummary>> summary(VoucherId voucher);
  /// Returns the summary of every voucher, in ascending order of ids. Sends one request per
  /// voucher.
  absl::StatusOr<std::vector<VoucherSummary>> summaries();

  // ---- Buying ----

  /// Decides on a purchase, atomically and as durably as the backend's writes.
  BuyResult buy(VoucherId voucher, const UserId& user, std::string_view idempotency_key = {});
  BuyResult buy(const BuyRequest& request);
  /// Decides on several purchases in this order: one round trip, one commit batch.
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests);
  /// The same without the order database, so that a slow one delays no purchase. A result is partial
  /// if it lacks `status` or `order`, or if its voucher must be looked up or rebuilt: that one is
  /// kOverloaded. Only the ids of orders are reserved in the database, a block at a time.
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests);
  /// Completes a partial result of decide_all(). May block on the order database.
  void complete(const BuyRequest& request, BuyResult& result);

  // ---- Waiting ----

  /// Lets a user wait for one piece of a sold-out voucher with a waiting list. A piece that a
  /// cancelled or refunded order gives back is sold to the waiting users, in the order of their
  /// arrival, before any other user can buy it. So are pieces that add_stock() adds, but others may
  /// buy some until it returns. Such an order has to be paid like any other. A repeated call returns
  /// the same order. A keyspace that loses its data loses its waiting lists.
  WaitResult wait_for(VoucherId voucher, const UserId& user);
  /// Removes a user from the waiting list. Returns false if the user is not on it.
  absl::StatusOr<bool> leave_waiting_list(VoucherId voucher, const UserId& user);
  /// Returns the users that wait, in the order of their arrival. Sends one request per 1,000.
  absl::StatusOr<std::vector<UserId>> waiting_list(VoucherId voucher);

  // ---- Paying, cancelling, refunding (docs/orders.md) ----

  /// Pays an unpaid order: kDone. A repeated call with the same payment gets the same outcome. If
  /// the order is paid by another payment, cancelled or timed out, the payment is recorded as due
  /// back: kTooLate. kRefused, and nothing is recorded: the amount is wrong, the payment id came
  /// with another order or amount, or the order demands no payment or is a dead letter.
  ChangeResult pay(const PayRequest& request);
  /// Pays several orders in this order: one round trip, one commit batch.
  std::vector<ChangeResult> pay_all(std::span<const PayRequest> requests);
  /// Cancels an unpaid order, and gives its pieces back as the voucher says: kDone, also if it was
  /// cancelled before. kTooLate: it is paid, or demands no payment.
  ChangeResult cancel(OrderId order, const std::string& reason, const std::string& actor = "user");
  /// Records that a created or paid order was used. kTooLate: it is being refunded or was cancelled.
  ChangeResult use(OrderId order, const std::string& actor = "operator");
  /// Refunds a created, paid or used order: its payments become due back, and its pieces are given
  /// back as the voucher says. If the call fails half-way, repeat it, or the next open() finishes it.
  /// kTooLate: it was cancelled, or is not paid yet.
  ChangeResult refund(OrderId order, const std::string& reason,
                      const std::string& actor = "operator");
  /// Refunds every created, paid or used order of a voucher, and cancels those not paid yet. Close
  /// the voucher first. Returns how many orders this call changed. Repeat it after an error.
  absl::StatusOr<std::size_t> refund_all(VoucherId voucher, const std::string& reason,
                                         const std::string& actor = "operator");
  /// Records that a payment which is due was refunded.
  ChangeResult confirm_refund(const std::string& payment);

  // ---- Ending a sale ----

  /// Ends the sale of a voucher for good: its keys leave the keyspace, its versions and orders move
  /// to the archive, in portions. status(), pay() and cancel() still know its orders; lists, the
  /// audit and summaries do not. Its id can never be published again. If the call is interrupted,
  /// repeat it, or the next open() finishes it. Errors:
  /// - kNotFound: the voucher was never on sale.
  /// - kFailedPrecondition: its sale has not ended (close() it), or it has orders that are queued,
  ///   unpaid, dead letters (unless `options` discards them) or due to be refunded; the message says
  ///   which. Or the order store keeps no archive.
  absl::Status archive(VoucherId voucher, const ArchiveOptions& options = {});
  /// Deletes the archived orders of a voucher, in portions, and its discarded dead letters. Returns
  /// the number of orders.
  /// kFailedPrecondition: it is not archived.
  absl::StatusOr<std::size_t> delete_archived(VoucherId voucher);

  // ---- Orders ----

  /// Returns the state of an order; an accepted one is never unknown. Reads indexes. For an order that
  /// this sale did not accept itself, also reads the order stream's new entries since the last call.
  absl::StatusOr<OrderState> status(OrderId order);
  /// Returns every accepted order of a user: created ones, then queued ones, then failed ones.
  /// Reads the new entries of the order stream since the last call, the parts of the backlog that
  /// have an order of this user, and all dead letters, in portions. OrderStore::list() returns the
  /// created ones alone.
  absl::StatusOr<std::vector<OrderState>> orders_of(const UserId& user);

  /// Returns the recorded changes of all orders above the position `after`, in ascending order, at
  /// most `count_max`. kFailedPrecondition: the order store keeps no payments.
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after,
                                                   std::size_t count_max = 1'000);

  /// Returns every dead letter, oldest first.
  absl::StatusOr<std::vector<DeadLetter>> dead_letters();
  /// Returns a dead letter to the order stream. A letter without stock first needs a rebuild that
  /// finds free stock. Returns false if the letter stays or does not exist.
  absl::StatusOr<bool> retry_dead_letter(const std::string& id);
  /// Discards a dead letter, and records `why`. The order stays admitted: the buyer's record and the
  /// stock do not change. Returns false if no letter has this id.
  absl::StatusOr<bool> discard_dead_letter(const std::string& id, const std::string& why);
  /// Returns every discarded letter, oldest first.
  absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters();

  /// Audits each voucher that the database, the keyspace or an order names. Asks the database
  /// whether its file is whole. Every rule of the admission is checked, from the buyers' records
  /// and the orders alone:
  /// - The database knows each voucher that is on sale, and the same version is in force, with the
  ///   same terms.
  /// - published = free + admitted - given back + withheld, and no more pieces sold than published.
  /// - Every admitted order is in exactly one place, and each buyer has as many pieces as the record
  ///   says. A discarded dead letter explains why a buyer has fewer.
  /// - Payments, changes, holds and waiting lists fit the orders, and no payment that was acknowledged is
  ///   lost.
  /// - No order was acknowledged without being stored, and each entry of the streams can be read.
  /// - The limits of the sale, per user and per day hold, and each order was admitted while the
  ///   sale was open, under the terms of its version. Of all versions of the voucher, the loosest limits
  ///   in total and per day count. A limit per day is checked if every version has one, at the same UTC
  ///   offset.
  /// docs/audit.md lists all claims, and the records that exist only once.
  ///
  /// May run during the sale, a rebuild or an archiving, and ignores orders admitted after it began. Reads
  /// the streams once, everything in bounded portions. Memory: some tens of bytes for each buyer of all
  /// vouchers, some hundred bytes for each buyer of one, and for each hold, unstored order, and order with
  /// payments or changes.
  absl::StatusOr<AuditReport> audit(const OnAuditProgress& on_progress = {});
  /// Repairs the contradictions that are safe to repair, then audits: lost events and payments are
  /// appended again, wrong holds are corrected, and lost ones rebuilt (docs/audit.md).
  /// AuditReport::repairs lists the repairs. Reports everything else as audit() does. May be
  /// interrupted and repeated.
  absl::StatusOr<AuditReport> repair(const OnAuditProgress& on_progress = {});

  [[nodiscard]] const SaleOptions& options() const;

 private:
  class Impl;
  explicit Sale(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

/// Returns the native implementations of the sale's scripts. Sale::open() adds them to its backend;
/// call this for an engine that only serves other processes.
std::vector<NamedScript> native_sale_scripts();

}  // namespace rushgate
