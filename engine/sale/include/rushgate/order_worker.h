// Turns admitted orders, their payments and their cancellations into rows of the database. Reads
// the order stream as a consumer of its group, in batches. Cancels orders that are not paid in
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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
  /// by the database's identity. Empty: c1; FlashSale has names of its own.
  std::string consumer = {};
  int batch_max = 10'000;  // orders per transaction, at least 1; larger batches cost less per order
  int attempts_max = 5;    // of an order that is itself at fault; then it becomes a dead letter
  /// Consecutive pauses with the same batch, before its orders are written in pieces.
  int isolate_after = 3;
  std::int64_t retry_after_ms = 1'000;  // between attempts; also the first pause, …
  /// … and each pause after another is twice as long, up to this.
  std::int64_t pause_ms_max = 10'000;
  std::int64_t claim_idle_ms = 60'000;  // takes over entries that a consumer has had for longer
  std::int64_t block_ms = 0;  // how long step() waits for new orders; 0: it does not wait,
                              // and wait_and_step() waits without a limit
  /// Removes entries that every group has acknowledged. Off where another system reads the stream
  /// without a group, or with a group that it creates later.
  bool trim = true;
  /// How long entries stay in the order stream after every group has acknowledged them. So a database
  /// that lost what it had stored (a replica that lagged takes over, or a backup is restored) is caught
  /// up from the stream. The same for all workers of a sale. 0: they are removed at once.
  std::int64_t retain_ms = 0;
  /// … but no more entries than this, with those that are not stored yet: the oldest go first.
  std::int64_t retain_max = 1'000'000;
  /// Called on the worker's thread with orders that are in the database, before they are
  /// acknowledged. Called at least once per order; again after a crash, a failed acknowledgement or
  /// an exception of this function. An exception pauses the worker. It is logged once, even if the
  /// repeated calls throw it again.
  ///
  /// Not called for orders that adoption writes, nor for an entry that the keyspace loses between
  /// the transaction and a crash. May be empty.
  std::function<void(std::span<const OrderId> orders)> on_stored = {};
  /// May be null. Gets a warning for each consumer of the group that is not a worker of this sale,
  /// because the orders that it reads go elsewhere.
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
    std::size_t changed = 0;   // payments and cancellations that were applied to the database
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

  /// Processes one batch: the one that it paused with, else its own pending entries (after a start,
  /// or when a retry is due), else entries of dead consumers, else new entries. Never throws: an
  /// exception of the order store pauses the worker.
  Step step();

  /// As step(), but waits for new orders for WorkerOptions::block_ms. If that is 0, waits until
  /// there is something to do. A pause is waited out first, on the calling thread. Waits at most
  /// `wait_ms_max` for each. In manual time use step(): no other thread moves the clock.
  Step wait_and_step(std::int64_t wait_ms_max = std::numeric_limits<std::int64_t>::max());

  /// Ends a wait for new orders, or for the end of a pause. Callable from any thread.
  void interrupt();

 private:
  friend class SaleMove;
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

/// Returns "worked", "idle" or "paused".
std::string_view step_name(OrderWorker::Step::Kind kind);

}  // namespace rushgate
