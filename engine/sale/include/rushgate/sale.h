// A flash sale: publishes vouchers, admits buyers, and reports orders. Works on every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/audit_report.h>
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/dead_letter.h>
#include <rushgate/order.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct PurchaseStatistics;  // <rushgate/purchase_statistics.h>

struct SaleOptions {
  /// Of the first lane; those of the others follow (SaleKeys::of_lane()). On a Redis Cluster, the first
  /// lane gets a hash tag unless the keys have one (SaleKeys::on_cluster()).
  SaleKeys keys = {};
  /// The number of lanes, at least: open() adds lanes to the order database until there are so many, up to
  /// kLanesMax. They stay, also if a later open() names fewer (docs/cluster.md). Vouchers that are on
  /// sale stay on their lane. More than 1 needs an order store with lanes (OrderStore::lanes()), and
  /// excludes `admission` and `adopt`. 0: kLanesOnCluster if the sale begins on a Redis Cluster, lanes are
  /// possible and `keys` have no tag; otherwise 1.
  int lanes = 0;
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
  /// Goes on without orders that the order database lost and the order stream no longer has. Without it,
  /// open() returns kDataLoss then, and no voucher is sold (docs/operations.md). Their pieces are sold
  /// again.
  bool accept_lost_orders = false;
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
  /// If it is not empty, the sale's dead letters are discarded, with this reason. Otherwise a sale
  /// that has some is not archived.
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
  /// - kPermissionDenied: the server refuses commands or keys that the sale or its workers need.
  ///   The message names them.
  /// - kUnimplemented: the server belongs to a Redis Cluster, and the client does not, or the keys of
  ///   the sale are in several slots.
  ///
  /// On a server, logs a warning for each setting with which orders may be lost
  /// (docs/production.md).
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
  /// - kUnavailable: another change did not end while this one waited, or a store is away. Or the
  ///   version is in force, but cached copies of the one before may stay (voucher_copies_max). Call
  ///   again in all cases.
  ///
  /// After kAborted and kUnavailable, the version may be recorded. Then the next change of the voucher,
  /// or the next open(), puts it in force.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {});
  /// Publishes `voucher` unless its id was ever published, even if that sale is archived by now.
  /// Use it in a program that reads its vouchers from a file at each start: publish() would take
  /// back the stock that add_stock() added since, and reopen a sale that close() ended. Returns
  /// true if this call published it. Errors: as publish().
  absl::StatusOr<bool> publish_if_new(const Voucher& voucher);
  /// Adds `delta` pieces to the stock of a voucher; removes some if it is negative. Keeps
  /// concurrent changes. kNotFound: the voucher was never on sale. kFailedPrecondition: it is
  /// archived. kUnknown: they may be added, now or later, and a repeated call would add as many more:
  /// publish the stock that you want instead. Other errors: as publish().
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
  /// The same without the order database, so that a slow one delays no purchase. A result is
  /// partial if it lacks `status` or `order`, or if its voucher must be looked up or rebuilt: that
  /// one is kOverloaded. Only the ids of orders are reserved in the database, a block at a time.
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests);
  /// Completes a partial result of decide_all(). May block on the order database.
  void complete(const BuyRequest& request, BuyResult& result);

  // ---- Waiting ----

  /// Lets a user wait for one piece of a sold-out voucher with a waiting list. A piece that a
  /// cancelled or refunded order gives back is sold to the waiting users, in the order of their
  /// arrival, before any other user can buy it. So are pieces that add_stock() adds, but others may
  /// buy some until it returns. Such an order has to be paid like any other. A repeated call
  /// returns the same order. A keyspace that loses its data loses its waiting lists.
  ///
  /// A voucher on several lanes has a list on each. A returned piece is sold to those who wait on its lane, else it
  /// moves to another one whose users wait; somebody may buy it before that.
  WaitResult wait_for(VoucherId voucher, const UserId& user);
  /// Removes a user from the waiting list. Returns false if the user is not on it.
  absl::StatusOr<bool> leave_waiting_list(VoucherId voucher, const UserId& user);
  /// Returns the users that wait, in the order of their arrival; of several lists, the first of each, the second of
  /// each, and so on. Sends one request per 1,000 and lane.
  absl::StatusOr<std::vector<UserId>> waiting_list(VoucherId voucher);
  /// Returns those of them that arrived after the arrival `after`, at most `count_max`: a page of the list,
  /// which users may leave meanwhile. A voucher on several lanes has a list on each, and numbers the arrivals of each
  /// list apart: they do not ascend with the time, and one who arrives later may be on a page that was read already.
  absl::StatusOr<std::vector<WaitingUser>> waiting_users(VoucherId voucher, std::int64_t after,
                                                         std::size_t count_max = 1'000);

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
  /// Records that a created or paid order was used. kTooLate: it is being refunded or was
  /// cancelled.
  ChangeResult use(OrderId order, const std::string& actor = "operator");
  /// Refunds a created, paid or used order: its payments become due back, and its pieces are given
  /// back as the voucher says. If the call fails half-way (kOutcomeUnknown), repeat it, or the next
  /// open() finishes it. kTooLate: it was cancelled, or is not paid yet.
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
  ///   unpaid, dead letters (unless `options` discards them) or due to be refunded; the message
  ///   says which. Or the order store keeps no archive.
  absl::Status archive(VoucherId voucher, const ArchiveOptions& options = {});
  /// Deletes the archived orders of a voucher, in portions, and its discarded dead letters. Returns
  /// the number of orders.
  /// kFailedPrecondition: it is not archived.
  absl::StatusOr<std::size_t> delete_archived(VoucherId voucher);

  // ---- Orders ----

  /// Returns the state of an order; an accepted one is never unknown. Reads indexes. For an order
  /// that this sale did not accept itself, also reads the order stream's new entries since the last
  /// call.
  absl::StatusOr<OrderState> status(OrderId order);
  /// Returns every accepted order of a user: stored ones, then queued ones, then dead letters.
  /// Reads the new entries of the order stream since the last call, the parts of the backlog that
  /// have an order of this user, and all dead letters, in portions. OrderStore::list() returns the
  /// stored ones alone.
  absl::StatusOr<std::vector<OrderState>> orders_of(const UserId& user);

  /// Returns the recorded changes of all orders above the position `after`, in ascending order, at
  /// most `count_max`. kFailedPrecondition: the order store keeps no payments.
  absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after,
                                                   std::size_t count_max = 1'000);

  /// Returns the dead letters with ids above `after`, oldest first, at most `count_max`. Default: all.
  /// With lanes, an id has that of its lane behind it, and all letters with the last id are returned.
  absl::StatusOr<std::vector<DeadLetter>> dead_letters(
      StreamId after = StreamId::min(),
      std::size_t count_max = std::numeric_limits<std::size_t>::max());
  /// Returns a dead letter to the order stream. A letter without stock first needs a rebuild that
  /// finds free stock. Returns false if the letter stays or does not exist.
  absl::StatusOr<bool> retry_dead_letter(const std::string& id);
  /// Discards a dead letter, and records `why`. The order stays admitted: the buyer's record and
  /// the stock do not change. Returns false if no letter has this id.
  absl::StatusOr<bool> discard_dead_letter(const std::string& id, const std::string& why);
  /// As dead_letters(), of the discarded ones.
  absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters(
      StreamId after = StreamId::min(),
      std::size_t count_max = std::numeric_limits<std::size_t>::max());

  /// Audits each voucher that the database, the keyspace or an order names. Asks the database
  /// whether its file is whole. Every rule of the admission is checked, from the buyers' records
  /// and the orders alone:
  /// - The database knows each voucher that is on sale, and the same version is in force, with the
  ///   same terms.
  /// - published = free + admitted - given back + withheld, and no more pieces sold than published.
  /// - Every admitted order is in exactly one place, and each buyer has as many pieces as the
  ///   record says. A discarded dead letter explains why a buyer has fewer.
  /// - Payments, changes, holds and waiting lists fit the orders, and no payment that was
  ///   acknowledged is lost.
  /// - No order was acknowledged without being stored, and each entry of the streams can be read.
  /// - The limits of the sale, per user and per day hold, and each order was admitted while the
  ///   sale was open, under the terms of its version. Of all versions of the voucher, the loosest
  ///   limits in total and per day count. A limit per day is checked if every version has one, at
  ///   the same UTC offset.
  /// docs/audit.md lists all claims, and the records that exist only once.
  ///
  /// May run during the sale, a rebuild or an archiving, and ignores orders admitted after it
  /// began. Reads the streams once, everything in bounded portions. Memory: some tens of bytes for
  /// each buyer of all vouchers, some hundred bytes for each buyer of one, and for each hold,
  /// unstored order, and order with payments or changes.
  absl::StatusOr<AuditReport> audit(const OnAuditProgress& on_progress = {});
  /// Repairs the contradictions that are safe to repair, then audits: lost events and payments are
  /// appended again, wrong holds are corrected, and lost ones rebuilt (docs/audit.md).
  /// AuditReport::repairs lists the repairs. Reports everything else as audit() does. May be
  /// interrupted and repeated.
  absl::StatusOr<AuditReport> repair(const OnAuditProgress& on_progress = {});

  /// Returns what purchases of this object came to. <rushgate/purchase_statistics.h>
  [[nodiscard]] PurchaseStatistics purchases() const;

  /// Returns the options, with the number of lanes that there are.
  [[nodiscard]] const SaleOptions& options() const;

  /// Returns the lanes. Each needs workers of its own.
  [[nodiscard]] std::span<const SaleLane> lanes() const;
  /// Returns the lane of a voucher, or the one on which it would be published. Asks the order database
  /// about a voucher that this process does not know. Of a voucher on several lanes, it is the first one.
  absl::StatusOr<SaleLane> lane_of(VoucherId voucher);
  /// Returns the lane on which a user buys a voucher, to which the user's purchase token belongs. Asks as
  /// lane_of(voucher).
  absl::StatusOr<SaleLane> lane_of(VoucherId voucher, const UserId& user);

 private:
  friend class SaleMove;
  struct Parts;
  class Lanes;
  explicit Sale(std::unique_ptr<Lanes> lanes);

  const std::unique_ptr<Lanes> lanes_;
  Parts* const only_;  // of the only lane; null if there are several
};

/// Returns the native implementations of the sale's scripts. Sale::open() adds them to its backend;
/// call this for an engine that only serves other processes.
std::vector<NamedScript> native_sale_scripts();

}  // namespace rushgate
