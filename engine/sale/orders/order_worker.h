// Turns admitted orders into rows of the database. Reads the order stream as a consumer of its
// group, in batches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/connection_check.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/ownership/keyspace_owner.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/sale_stores.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct WorkerOptions {
  /// Workers with different names share the work. In the group, consumer_name() makes it the
  /// database's own.
  std::string consumer = "c1";
  int batch_max = 10'000;  // orders per transaction, at least 1; larger batches cost less per order
  int attempts_max = 5;    // of an order that is itself at fault; then it becomes a dead letter
  /// Consecutive pauses with the same batch, before its orders are written in pieces.
  int isolate_after = 3;
  std::int64_t retry_after_ms = 1'000;  // between attempts; also the first pause, …
  /// … and each pause after another is twice as long, up to this.
  std::int64_t pause_ms_max = 10'000;
  std::int64_t claim_idle_ms = 60'000;  // takes over entries that a consumer has had for longer
  std::int64_t block_ms = 0;            // how long step() waits for new orders; 0: does not wait
  /// Removes entries that every group has acknowledged. Off where another system reads the stream
  /// without a group, or with a group that it creates later.
  bool trim = true;
  /// Called on the worker's thread with orders that are in the database, before they are
  /// acknowledged. Called at least once per order; again after a crash, a failed acknowledgement or
  /// an exception of this function. An exception pauses the worker.
  ///
  /// Not called for orders that adoption writes, nor for an entry that the keyspace loses between
  /// the transaction and a crash. May be empty.
  std::function<void(std::span<const OrderId> orders)> on_stored = {};
  /// May be null. Receives a warning for each consumer of the group that is no worker: the orders
  /// that it reads go elsewhere.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// A consumer of orders. For one thread. Does not own its arguments, which must outlive it.
class OrderWorker {
 public:
  struct Step {
    enum class Kind : std::uint8_t {
      kWorked,  // something was done, and there may be more to do
      kIdle,    // nothing to do now
      kPaused,  // an outage of the database or the keyspace; no order's faults were counted
    };
    Kind kind = Kind::kIdle;
    std::size_t stored = 0;    // now in the database, including orders that were there already
    std::size_t buried = 0;    // became dead letters
    std::size_t restored = 0;  // lost by the keyspace, and admitted once more
    std::size_t faulted = 0;   // failed by their own fault; they will be tried again
    /// Entries deleted while they were pending. The audit names their orders if they were not
    /// stored before.
    std::size_t lost = 0;
    std::string reason = {};  // of a pause
  };

  /// Opens a client of its own, since it may block.
  OrderWorker(Backend& backend, const SaleStores& stores, const SaleKeys& keys,
              WorkerOptions options = {});
  OrderWorker(const OrderWorker&) = delete;
  OrderWorker& operator=(const OrderWorker&) = delete;

  /// Processes one batch. Order: the batch that it paused with, its own pending entries (after a
  /// start, or when a retry is due), entries of dead consumers, new entries. Never throws: an
  /// exception of the order store pauses the worker.
  Step step() { return step(options_.block_ms); }

  /// As step(), but waits for new orders for WorkerOptions::block_ms. If that is 0, waits until
  /// there is something to do.
  Step wait_and_step();

  /// Ends a wait for new orders. Callable from any thread.
  void interrupt() { client_->unblock(); }

 private:
  static constexpr std::string_view kHistoryStart = "0-0";

  using Entries = std::vector<OrderEntry>;
  struct Batch {
    Entries entries;
    bool is_redelivery = false;  // another delivery came before, to this consumer or another
  };
  struct Decided {  // the decision about an entry
    const OrderEntry* entry;
    enum class Fate : std::uint8_t { kStored, kRefused, kFault } fate;
    std::string reason;
  };

  /// Orders, each with its entry.
  struct Orders {
    std::vector<Order> orders;
    std::vector<const OrderEntry*> entries;

    void add(const Order& order, const OrderEntry& entry) {
      orders.push_back(order);
      entries.push_back(&entry);
    }
  };
  using OrderSpan = std::span<const Order>;
  using EntrySpan = std::span<const OrderEntry* const>;

  Step step(std::int64_t block_ms);
  Step work(std::int64_t block_ms);
  absl::Status ensure_group();
  absl::Status report_foreign_consumers();
  absl::StatusOr<Batch> take_batch(std::int64_t block_ms);
  absl::StatusOr<Batch> next_batch(std::int64_t block_ms);
  absl::StatusOr<Batch> extend(Batch batch);
  [[nodiscard]] std::int64_t ms_to_wait(std::int64_t block_ms) const;
  [[nodiscard]] std::size_t batch_max() const;
  absl::StatusOr<Entries> read_group(std::string_view after, std::size_t batch_max,
                                     std::int64_t block_ms);
  absl::StatusOr<Entries> read_portion(std::string_view after, std::size_t count_max,
                                       std::int64_t block_ms);
  absl::StatusOr<Entries> claim_abandoned();
  absl::Status report_lost(const Reply& ids);
  Step process(Batch batch);
  Step process_held(Batch& batch);
  absl::StatusOr<BatchFence> draw_fence();
  Step read_again();
  static Decided fault_of(const OrderEntry& entry, const absl::Status& status);
  static void append_results(EntrySpan entries, std::span<const OrderResult> results,
                             std::vector<Decided>& decided);
  absl::StatusOr<std::vector<OrderResult>> try_write(OrderSpan orders);
  absl::Status write_all(const Orders& orders, const Orders& suspects,
                         std::vector<Decided>& decided);
  absl::Status write(OrderSpan orders, EntrySpan entries, std::vector<Decided>& decided);
  absl::Status isolate(OrderSpan orders, EntrySpan entries, std::vector<Decided>& decided);
  absl::Status write_suspect(const Order& order, const OrderEntry& entry,
                             std::vector<Decided>& decided);
  [[nodiscard]] bool is_isolating() const { return failed_writes_ >= options_.isolate_after; }
  absl::Status conclude(const std::vector<Decided>& decided, bool is_redelivery, Step& step);
  void report_stored(const std::vector<Decided>& decided) const;
  absl::Status acknowledge_stored(const std::vector<Decided>& decided, bool is_redelivery,
                                  Step& step);
  absl::Status acknowledge(std::span<const OrderEntry* const> entries, bool is_redelivery);
  absl::StatusOr<bool> is_fault_final(const OrderEntry& entry);
  absl::Status trim();
  void keep_undecided(Batch batch, const std::vector<Decided>& decided);
  void drop_batch();
  void release(const OrderEntry& entry);
  void release(Batch& batch);
  void take_released(OrderEntry& entry);
  absl::Status restore_released();
  Step pause(const absl::Status& reason);
  void retry_later();

  const std::unique_ptr<Client> client_;
  const SaleStores stores_;
  const Clock& clock_;
  const SaleKeys keys_;
  const WorkerOptions options_;
  KeyspaceOwner owner_;
  VoucherBook vouchers_;
  const OwnedConnectionCheck connection_check_;

  std::string consumer_;    // its name in the group; known once group_exists_
  DatabaseState database_;  // at the time when the batch now written was read
  BatchFence fence_;        // of the batch now written
  bool group_exists_ = false;
  std::optional<std::string> history_after_ = std::string(
      kHistoryStart);  // where reading its own pending entries continues; nothing: all read
  std::int64_t retry_at_ms_ = 0;  // monotonic; 0: nothing to retry
  std::optional<Batch> kept_;     // the batch that it paused with
  // Entries that must be read once more. The keyspace may have lost the ones that it does not
  // return then.
  absl::flat_hash_map<std::string, OrderEntry> released_;
  std::int64_t read_at_ms_ = 0;   // monotonic: when the entries in kept_ were read
  int failed_writes_ = 0;         // consecutive pauses caused by the order store
  std::size_t failed_alone_ = 0;  // orders at its front that failed alone in the last attempt
  std::size_t tried_alone_ = 0;   // orders that failed alone since failed_writes_ was 0
  absl::flat_hash_set<std::string>
      suspects_;    // entries whose orders failed while others were stored: they are written alone
  int pauses_ = 0;  // consecutive
  std::int64_t paused_until_ms_ = 0;  // monotonic
  std::string pause_reason_;
  std::int64_t claim_at_ms_ = 0;    // monotonic
  std::string claim_from_;          // where claiming continues; kClaimFromStart: at the beginning
  std::size_t lost_ = 0;            // in this step
  VoucherBook::Restored restored_;  // in this step
  absl::flat_hash_set<std::string> reported_consumers_;
};

/// Returns "worked", "idle" or "paused".
std::string_view step_name(OrderWorker::Step::Kind kind);

/// A thread that runs a worker until it is stopped. Each worker has its own client.
class OrderWorkerThread {
 public:
  explicit OrderWorkerThread(std::unique_ptr<OrderWorker> worker, std::int64_t pause_ms = 100);
  /// Stops the thread.
  ~OrderWorkerThread();

  /// Ends the thread after the current batch. A wait for orders ends at once.
  void stop();
  /// Blocks until the counts below include the orders that have left the keyspace. A wait for
  /// orders ends at once.
  void update_counts();

  [[nodiscard]] std::size_t stored() const { return stored_.load(); }
  [[nodiscard]] std::size_t buried() const { return buried_.load(); }
  [[nodiscard]] std::size_t lost() const { return lost_.load(); }
  /// Returns why the worker makes no progress; empty if it does.
  [[nodiscard]] std::string pause_reason() const;

 private:
  void loop();

  const std::unique_ptr<OrderWorker> worker_;
  const std::int64_t pause_ms_;
  std::atomic<std::size_t> stored_{0};
  std::atomic<std::size_t> buried_{0};
  std::atomic<std::size_t> lost_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool stopping_ = false;
  bool has_ended_ = false;
  bool is_pausing_ = false;  // between two steps
  std::uint64_t steps_ = 0;  // that are counted
  std::string pause_reason_;
  std::thread thread_;
};

}  // namespace rushgate
