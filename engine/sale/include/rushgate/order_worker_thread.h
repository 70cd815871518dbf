// A thread for an order worker, for sales without FlashSale.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include <rushgate/order_worker.h>

namespace rushgate {

/// What a worker has done, as in OrderWorker::Step, and how often. A value type.
struct WorkerCounts {
  std::uint64_t batches = 0;  // steps in which something was done
  std::uint64_t pauses = 0;   // steps that were paused
  std::uint64_t stored = 0;
  std::uint64_t changed = 0;
  std::uint64_t expired = 0;
  std::uint64_t buried = 0;
  std::uint64_t restored = 0;
  std::uint64_t faulted = 0;
  std::uint64_t lost = 0;

  void add(const OrderWorker::Step& step);
  void add(const WorkerCounts& other);
};

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

  [[nodiscard]] WorkerCounts counts() const;
  [[nodiscard]] std::size_t stored() const { return counts().stored; }
  [[nodiscard]] std::size_t buried() const { return counts().buried; }
  [[nodiscard]] std::size_t lost() const { return counts().lost; }
  /// Returns why the worker makes no progress; empty if it does.
  [[nodiscard]] std::string pause_reason() const;

 private:
  void loop();
  bool run_after_step(OrderWorker::Step& step);

  const std::unique_ptr<OrderWorker> worker_;
  const std::int64_t pause_ms_;
  const AfterStep after_step_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  WorkerCounts counts_;
  bool stopping_ = false;
  bool has_ended_ = false;
  bool is_pausing_ = false;  // between two steps
  std::uint64_t steps_ = 0;  // that are counted
  std::string pause_reason_;
  std::thread thread_;
};

}  // namespace rushgate
