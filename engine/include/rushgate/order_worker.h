// Turns admitted orders, their payments and their cancellations into rows of the database. Reads the
// order stream as a consumer of its group, in batches. Cancels orders that are not paid in time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct WorkerOptions {
  /// Workers with different names share the work. In the group, the name is followed
  /// by the database's identity.
  std::string consumer = "c1";
  int batch_max = 10'000;  // orders per transaction, at least 1; larger batches cost less per order
  int attempts_max = 5;    // of an order that is itself at fault; then it becomes a dead letter
  /// Consecutive pauses with the same batch, before its orders are written in pieces.
  int isolate_after = 3;
  std::int64_t retry_after_ms = 1'000;  // between attempts; also the first pause, …
  /// … and each pause after another is twice as long, up to this.
  std::int64_t pause_ms_max = 10'000;
  std::int64_t claim_idle_ms = 60'000;  // takes over entries that a consumer has had for longer
  std::int64_t block_ms = 0;            // step() waits so long for new orders; 0: it does not wait,
                                        // and wait_and_step() waits without a limit
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
    std::size_t changed = 0;   // events of orders applied to it: payments, cancellations
    std::size_t expired = 0;   // unpaid orders cancelled by the timeout
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
  ~OrderWorker();
  OrderWorker(const OrderWorker&) = delete;
  OrderWorker& operator=(const OrderWorker&) = delete;

  /// Processes one batch. Order: the batch that it paused with, its own pending entries (after a
  /// start, or when a retry is due), entries of dead consumers, new entries. Never throws: an
  /// exception of the order store pauses the worker.
  Step step();

  /// As step(), but waits for new orders for WorkerOptions::block_ms. If that is 0, waits until
  /// there is something to do. Waits at most `wait_ms_max`.
  Step wait_and_step(std::int64_t wait_ms_max = std::numeric_limits<std::int64_t>::max());

  /// Ends a wait for new orders. Callable from any thread.
  void interrupt();

 private:
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

/// Returns "worked", "idle" or "paused".
std::string_view step_name(OrderWorker::Step::Kind kind);

/// A thread that runs a worker until it is stopped. Each worker has its own client.
class OrderWorkerThread {
 public:
  /// Called on the thread after each step. Returns true if it has more to do: then the next step
  /// does not wait for orders. An error counts as a reason for a pause.
  using AfterStep = std::function<absl::StatusOr<bool>()>;

  /// With `after_step`, the first step does not wait for orders.
  explicit OrderWorkerThread(std::unique_ptr<OrderWorker> worker, std::int64_t pause_ms = 100,
                             AfterStep after_step = {});
  /// Stops the thread.
  ~OrderWorkerThread();

  /// Ends the thread after the current batch. A wait for orders ends at once.
  void stop();
  /// Ends a wait for orders, so that the next step begins. Does not block.
  void interrupt() { worker_->interrupt(); }
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
  bool run_after_step(OrderWorker::Step& step);

  const std::unique_ptr<OrderWorker> worker_;
  const std::int64_t pause_ms_;
  const AfterStep after_step_;
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
