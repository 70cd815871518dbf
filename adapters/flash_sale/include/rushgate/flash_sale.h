// A whole flash sale in one object: the keyspace, the order database, the workers and the clock.
// Start here to sell.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/move_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct BackendUrl;      // <rushgate/open_backend.h>
struct SaleStatistics;  // <rushgate/sale_statistics.h>

struct FlashSaleOptions {
  /// Creates missing directories and databases.
  bool create_if_missing = true;
  /// The directory of the order database, if it differs from the sale's. A Redis requires it. If it
  /// is set, a directory passed to open() holds only the keyspace, and `memory:` keeps the orders.
  std::filesystem::path orders_dir = {};
  /// The order database, if it is in neither directory: a URL of open_order_store(), such as
  /// postgresql://… (<rushgate/open_order_store.h>). orders_dir is then empty, and a directory passed to
  /// open() holds only the keyspace. With a keyspace on a Redis, any number of processes on any number
  /// of hosts may open the sale.
  std::string orders = {};
  /// Threads that store orders, for each lane (SaleOptions::lanes). With 0 the sale has no threads:
  /// drain() stores orders, and poll() decides submitted requests.
  int workers = 1;
  /// The lanes whose orders the workers store. Empty: all. Some process must store those of each lane:
  /// drain() waits for all.
  std::vector<int> work_lanes = {};
  bool start_workers = true;           // by open(); false: by start_workers()
  std::size_t submitted_max = 65'536;  // submitted requests without a completion yet
  /// How long drain() with running workers waits while the keyspace or the order database is
  /// unreachable, or refuses what the workers write.
  std::int64_t patience_ms = 13'000;
  bool names_order_at_limit = true;  // as SaleOptions::names_order_at_limit; set either
  SaleOptions sale = {};
  EngineOptions engine = {};  // of an embedded keyspace; its logger is `logger`
  /// Options of each worker. `worker.consumer` is the prefix of the consumers' names: <consumer>.1,
  /// <consumer>.2, … Empty: c1, c2, …, or unique names where other processes may have workers.
  /// `worker.on_stored` reports stored orders. A block_ms of 0 stands for 10 s.
  WorkerOptions worker = {};
  /// Called for each recorded change of an order's state above the position `on_state_after`, in
  /// ascending positions: at least once, and by one thread at a time. Runs on a worker's thread
  /// after its steps, and in drain() without running workers. A change that this process decides or
  /// the timeout makes is reported right after it is stored. A change by use(), refund() or another
  /// process is reported after the next step, at most 10 s later, or in drain().
  ///
  /// An exception pauses the reports and is logged once, and this change is reported again after
  /// worker.retry_after_ms, later after twice as long, up to worker.pause_ms_max. Orders are stored
  /// meanwhile. The function may use the sale, except for drain(), start_workers() and
  /// stop_workers(). It may run before open() returns, unless start_workers is false. A slow
  /// function delays its worker by up to 256 calls.
  std::function<void(const OrderChange& change)> on_state = {};
  /// The position of the last change that is done. Store OrderChange::position in the same
  /// transaction as the effect of the change, and pass it here after a restart. 0: from the first
  /// change. A position above the database's last one is refused.
  std::int64_t on_state_after = 0;
  /// Called with the free stock of each voucher on sale, and again when the keyspace has another
  /// one: after sales, returns and publish(), here or in any other process. The sale looks each
  /// `on_stock_every_ms`, so a change is reported that much later, plus the time of one read. Of
  /// several changes between two looks, only the last is reported. A change that is undone by then
  /// is not. Once the stock stays, the last call had it. Nothing is reported while the keyspace is
  /// away, nor of a voucher that it lost and that is not rebuilt yet.
  ///
  /// Runs on a thread of its own from start_workers() to stop_workers(), and so maybe before open()
  /// returns; with workers = 0, in poll(). One call runs at a time. An exception is logged once, and
  /// the voucher is reported again at the next look. The function may use the sale, except for
  /// start_workers() and stop_workers().
  std::function<void(VoucherId voucher, std::int64_t free)> on_stock = {};
  std::int64_t on_stock_every_ms = 100;  // at least 1
  /// The logger of all parts without their own. May be null.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Called once with the result of a purchase. It may use the sale. It must not throw.
using BuyCompletion = absl::AnyInvocable<void(const BuyResult& result)>;
/// The same with the result of a change of an order.
using ChangeCompletion = absl::AnyInvocable<void(const ChangeResult& result)>;
/// The same with the result of a change of a voucher.
using VoucherCompletion = absl::AnyInvocable<void(const absl::Status& result)>;

/// Accepted orders that are not stored yet.
struct Backlog {
  bool empty = false;             // every accepted order is stored or a dead letter
  std::string pause_reason = {};  // why the workers make no progress; empty if they do
};

inline void wait_silently(const std::string& /*note*/) {}

struct BackupOptions {
  /// How many backups stay. 0: all.
  std::size_t keep = 3;
  /// While the sale sells, a backup works for a thirtieth of the time, so that it costs about a
  /// twentieth of the rate at most. It works for more if it would otherwise take longer than this, and
  /// takes longer only if the disk is too slow. 0: it never waits. A sale that does not sell is copied
  /// as fast as possible.
  std::chrono::milliseconds within = std::chrono::minutes(5);
  /// Ends the backup soon: kAborted. Before the sale is destroyed, its owner must end all backups.
  std::stop_token stop = {};
};

/// A backup that is complete.
struct BackupReport {
  std::filesystem::path path = {};  // its directory
  bool has_keyspace = false;        // false: the keyspace is on a server, and not part of it
  std::uint64_t bytes = 0;          // of all files, also of those that are links
  std::int64_t took_ms = 0;
};

/// Owns all parts of a sale. Thread-safe, except that start_workers(), stop_workers() and the
/// destructor must not run concurrently.
class FlashSale {
 public:
  /// Opens the sale at one of these places, and creates it if it is missing:
  ///     dir[?durability=os|everysec|sync]   the directory `keyspace` and the file `orders.db` in dir
  ///     memory:                             everything in memory
  ///     redis://…, rediss://…, unix:…,
  ///     redis-sentinel://…, rediss-sentinel://…,
  ///     redis-cluster://…, rediss-cluster://…
  ///                                         the keyspace on a Redis, the orders in `orders_dir` or at
  ///                                         `orders`
  /// BackendUrl::parse() describes the syntax. Only one process has a sale open at a time, unless its
  /// keyspace is on a Redis and its orders are at a URL.
  ///
  /// Errors, besides those of the stores and of the connection:
  /// - kInvalidArgument: the URL or an option is wrong, or keyspace and database do not belong
  ///   together.
  /// - kNotFound: there is no sale, and it may not be created.
  /// - kFailedPrecondition: the directory holds something else, or another process has it open.
  ///   is_held_by_another() in <rushgate/rocksdb_store.h> then returns true.
  /// - kDataLoss: the order database is missing next to a keyspace.
  static absl::StatusOr<std::unique_ptr<FlashSale>> open(std::string_view dir_or_url,
                                                         const FlashSaleOptions& options = {});
  /// Opens a parsed place, or a directory whose name has a '?' or '%'.
  static absl::StatusOr<std::unique_ptr<FlashSale>> open(const BackendUrl& place,
                                                         const FlashSaleOptions& options = {});
  /// Opens your own keyspace and order database, also for tests with a manual clock. On a Redis any
  /// number of processes may do so with one order database. Each takes over the orders that another
  /// one left after worker.claim_idle_ms. A process that starts with the worker.consumer of an
  /// earlier one takes over its orders at once. No two running processes may have the same one.
  /// Ignores create_if_missing, orders_dir and orders.
  static absl::StatusOr<std::unique_ptr<FlashSale>> open(std::unique_ptr<Backend> backend,
                                                         std::unique_ptr<OrderStore> orders,
                                                         const FlashSaleOptions& options = {});
  /// For an order database of your own that keeps no vouchers (OrderStore::vouchers()).
  static absl::StatusOr<std::unique_ptr<FlashSale>> open(std::unique_ptr<Backend> backend,
                                                         std::unique_ptr<OrderStore> orders,
                                                         std::unique_ptr<VoucherStore> vouchers,
                                                         const FlashSaleOptions& options = {});
  /// Decides all submitted requests, drops completions that did not run, and stops the workers.
  /// Queued orders are stored after the next open().
  ~FlashSale();
  FlashSale(const FlashSale&) = delete;
  FlashSale& operator=(const FlashSale&) = delete;

  // ---- Selling (more in sale()) ----

  /// Puts a voucher on sale, or changes it. Publishing equal terms again changes nothing.
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version = {}) {
    return sale_.publish(voucher, expected_version);
  }
  /// Publishes a voucher unless its id was published before. For programs that publish their
  /// vouchers at each start. Returns true if this call published it.
  absl::StatusOr<bool> publish_if_new(const Voucher& voucher) {
    return sale_.publish_if_new(voucher);
  }
  /// Publishes the version in force with `delta` more pieces, fewer if it is negative.
  absl::Status add_stock(VoucherId voucher, std::int64_t delta) {
    return sale_.add_stock(voucher, delta);
  }
  /// Buys one piece. A repeated call with the same idempotency key returns the order of the first
  /// call, and its present status.
  BuyResult buy(VoucherId voucher, const UserId& user, std::string_view idempotency_key = {}) {
    return sale_.buy(voucher, user, idempotency_key);
  }
  /// The same, with a quantity and a reference.
  BuyResult buy(const BuyRequest& request) { return sale_.buy(request); }
  /// Submits a purchase and returns at once, for a thread that must not block, such as the frame
  /// thread of a game. `completion` gets the result in poll(). Requests of one thread are decided
  /// in order, whatever they want. With threads, those behind a purchase do not wait for the order
  /// database, which completes some: repetitions, users at the limit, vouchers that the keyspace
  /// lacks. Returns false if submitted_max requests wait for their completion: nothing was done.
  [[nodiscard]] bool submit_buy(BuyRequest request, BuyCompletion completion);
  /// Runs the completions of decided requests on the calling thread, at most `budget` of them.
  /// Returns how many ran. It does not block, but without threads (workers = 0) it first decides
  /// all submitted requests, and calls on_stock if that is due. Returns 0 at once while another call
  /// is running.
  std::size_t poll(std::size_t budget = std::numeric_limits<std::size_t>::max());
  /// Returns the terms of a voucher, the free stock and the number admitted; nothing if it was
  /// never on sale.
  absl::StatusOr<std::optional<VoucherSummary>> voucher(VoucherId voucher) {
    return sale_.summary(voucher);
  }
  /// Returns the summary of every voucher, in ascending order of ids.
  absl::StatusOr<std::vector<VoucherSummary>> vouchers() { return sale_.summaries(); }
  /// Returns where an order is: queued, stored or among the dead letters.
  absl::StatusOr<OrderState> status(OrderId order) { return sale_.status(order); }
  /// Checks that nothing was oversold, doubled or lost. Names each contradicting order.
  absl::StatusOr<AuditReport> audit(const OnAuditProgress& on_progress = {}) {
    return sale_.audit(on_progress);
  }
  /// Blocks until every submitted request is decided, every accepted order is stored or a dead
  /// letter, and on_state has returned for every recorded change. Calls `waiting` with the reason
  /// every few milliseconds. Without running workers, stores and reports on the calling thread
  /// without waiting for retries. Errors:
  /// - kUnavailable: the workers made no progress for 30 s, or the keyspace did not reply for
  ///   patience_ms. Without running workers: something waits for a retry, or the keyspace or the
  ///   order database is unavailable.
  /// - any other: with running workers, the keyspace is unusable for good. Without: an error of the
  ///   order database or the keyspace.
  absl::Status drain(absl::FunctionRef<void(const std::string& note)> waiting = wait_silently);

  // ---- Paying, cancelling, refunding: as in Sale ----

  ChangeResult pay(const PayRequest& request) { return sale_.pay(request); }
  std::vector<ChangeResult> pay_all(std::span<const PayRequest> requests) {
    return sale_.pay_all(requests);
  }
  ChangeResult cancel(OrderId order, const std::string& reason, const std::string& actor = "user") {
    return sale_.cancel(order, reason, actor);
  }
  ChangeResult use(OrderId order, const std::string& actor = "operator") {
    return sale_.use(order, actor);
  }
  ChangeResult refund(OrderId order, const std::string& reason,
                      const std::string& actor = "operator") {
    return sale_.refund(order, reason, actor);
  }
  absl::StatusOr<std::size_t> refund_all(VoucherId voucher, const std::string& reason,
                                         const std::string& actor = "operator") {
    return sale_.refund_all(voucher, reason, actor);
  }
  ChangeResult confirm_refund(const std::string& payment) { return sale_.confirm_refund(payment); }

  // ---- Changes by a thread that must not block ----

  /// Submits a change of an order, as submit_buy() submits a purchase. The thread that decides reads
  /// the order database for it, and writes it for a use or a refund. Requests behind it wait
  /// meanwhile.
  [[nodiscard]] bool submit_pay(PayRequest request, ChangeCompletion completion);
  [[nodiscard]] bool submit_cancel(OrderId order, std::string reason, std::string actor,
                                   ChangeCompletion completion);
  [[nodiscard]] bool submit_use(OrderId order, std::string actor, ChangeCompletion completion);
  [[nodiscard]] bool submit_refund(OrderId order, std::string reason, std::string actor,
                                   ChangeCompletion completion);
  /// Submits a change of a voucher in the same way. publish() may wait for another change.
  [[nodiscard]] bool submit_publish(Voucher voucher, VoucherCompletion completion);
  [[nodiscard]] bool submit_add_stock(VoucherId voucher, std::int64_t delta,
                                      VoucherCompletion completion);

  // ---- Workers ----

  /// Starts FlashSaleOptions::workers threads. They first take over the orders that an earlier
  /// process left, unless other processes may have workers. kFailedPrecondition: they are running.
  absl::Status start_workers();
  /// Stops the workers after their current batches, and after up to 256 calls of on_state.
  void stop_workers();
  absl::StatusOr<Backlog> backlog();
  /// Returns how many orders were stored since open(). buried() counts the dead letters.
  [[nodiscard]] std::size_t stored() const;
  [[nodiscard]] std::size_t buried() const;
  /// Calls `notice` after each step of a worker, on its thread, as long as the result lives, which the
  /// sale must outlive. A step may have stored orders and changes of orders. For those who would
  /// otherwise look at the database again and again. It must neither block nor throw nor use the sale.
  [[nodiscard]] std::shared_ptr<const void> on_step(std::function<void()> notice);

  // ---- The parts: they live as long as the sale ----

  [[nodiscard]] Sale& sale() { return sale_; }
  [[nodiscard]] Backend& backend();
  /// Returns the sale's own session. Use sessions from backend().open_client() for blocking
  /// commands.
  [[nodiscard]] Client& client();
  [[nodiscard]] OrderStore& orders();
  [[nodiscard]] const Clock& clock() const;
  /// Returns the keys of the sale; with lanes, those of the lane 0. Sale::lanes() has them all.
  [[nodiscard]] const SaleKeys& keys() const { return sale_.options().keys; }
  /// Returns an error while the keyspace is unusable. kUnavailable: it may be usable again later.
  /// Any other code: only a new open() can help.
  [[nodiscard]] absl::Status health() const;
  /// As health(), but also OK while some lanes of a sale on a Redis Cluster can be reached.
  [[nodiscard]] absl::Status readiness() const;
  /// Returns the figures of the sale, for dashboards: <rushgate/sale_statistics.h>. metrics_text() in
  /// <rushgate/metrics.h> returns them for Prometheus. Sends some requests to the keyspace, at most one
  /// for each voucher of the result, and spends at most a hundredth of the time on counting orders.
  SaleStatistics statistics();

  // ---- Moving ----

  /// Moves a sale, which this process does not have open, from the keyspace at `from` to the one at `to`,
  /// by move_sale(). `options` say where the orders are, as for open(). kInvalidArgument: one of the
  /// keyspaces is in the memory of a process. Other errors: as open() and move_sale().
  static absl::StatusOr<MoveReport> move(const BackendUrl& from, std::string_view to,
                                         const FlashSaleOptions& options = {},
                                         std::function<void(std::string_view step)> on_step = {});

  // ---- Backup ----

  /// Copies the sale to a new directory in `dir`, which is named after the time, while it sells. Workers
  /// wait for some milliseconds. Keyspace and order database are of one moment. Tables of the keyspace
  /// are links to those of the sale or of the backup before, where the file system permits that. Then
  /// removes all but the newest of them. A backup that is interrupted at any moment leaves the others as
  /// they are. restore_backup() restores it.
  ///
  /// With a keyspace on a server, copies the order database alone. A sale that is opened on a restored
  /// one with an empty keyspace has all stored orders, and lacks those that were queued. Errors:
  /// - kUnimplemented: the sale is in memory, or the order store copies nothing.
  /// - kFailedPrecondition: another backup is being made in `dir`, or it is the sale's own directory.
  /// - kUnavailable: a file cannot be written.
  /// - kAborted: it was stopped.
  absl::StatusOr<BackupReport> backup(const std::filesystem::path& dir,
                                      const BackupOptions& options = {});

 private:
  class Impl;
  explicit FlashSale(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
  Sale& sale_;  // of impl_
};

// ---- Restoring a backup ----

/// Copies a backup to `dir`, which must be missing or empty: a new place for the sale. `backup` is the
/// directory of one backup, or the directory of FlashSale::backup(), whose newest one is taken. Returns
/// the directory of that backup. A sale that runs elsewhere goes on, and both must not sell. Errors:
/// - kFailedPrecondition: `dir` is in use, or not empty.
/// - kNotFound: there is no complete backup.
/// - kDataLoss: a file of the backup is missing or is of another backup.
/// - kUnavailable: a file cannot be written.
absl::StatusOr<std::filesystem::path> restore_backup(const std::filesystem::path& backup,
                                                     const std::filesystem::path& dir);

// ---- Vouchers in a file (vouchers.json) ----

/// Reads a file and parses it by parse_vouchers(). Messages name the file. A program that does this
/// at each start should publish them by FlashSale::publish_if_new(). Errors:
/// - kNotFound: it does not exist.
/// - kUnavailable: it is unreadable.
absl::StatusOr<std::vector<Voucher>> read_vouchers(const std::filesystem::path& file);

/// Parses the contents of a file: a JSON array of objects. docs/programs.md describes their fields.
/// Errors use `name`. kInvalidArgument: the message is `<name>: [index].field: <fault>`. An unknown
/// field is a fault too: a mistyped limit must not be ignored.
absl::StatusOr<std::vector<Voucher>> parse_vouchers(std::string_view text, std::string_view name);

/// Returns the vouchers in the format that parse_vouchers() reads.
std::string format_vouchers(const std::vector<Voucher>& vouchers);

}  // namespace rushgate
