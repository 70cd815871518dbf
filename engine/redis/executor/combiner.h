// Flat combining: threads submit operations, and the thread that holds the turn runs them all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "engine/redis/executor/commit_batch.h"
#include "engine/redis/executor/due_work.h"
#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/operation_queue.h"
#include "engine/redis/executor/reply_sender.h"
#include "engine/redis/executor/service_thread.h"
#include "engine/redis/executor/turn.h"
#include "engine/redis/executor/turn_share.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>

namespace rushgate {

/// Takes operations, runs them in commit batches, and waits for their replies. Thread-safe.
class Combiner {
 public:
  /// Not owned.
  struct Parts {
    const EngineOptions& options;
    const Clock& clock;
    OperationQueue& queue;
    CommitBatch& batch;
    DueWork& due_work;
    ReplySender& sender;
    ServiceThread& service;
  };
  explicit Combiner(const Parts& parts);

  /// See the functions of Executor.
  bool run_and_wait(Operation& operation, bool fail_when_full);
  void run_all_and_wait(std::span<Operation* const> operations,
                        absl::FunctionRef<void()> while_busy);
  void post(std::unique_ptr<Operation> operation, bool fail_when_full);

  /// Does the service thread's work after a kick or at a due time. Returns the time (monotonic ms)
  /// of the next due work.
  std::int64_t serve();
  /// Runs the due work and the queue, unless another thread holds the turn.
  void try_work(TurnShare share);

  /// Waits for the turn and runs a function in it, which must throw nothing. Not after close().
  void run_in_turn(absl::FunctionRef<void()> run);

  /// Refuses new operations, runs the earlier ones, and keeps the turn taken for good. Returns
  /// false if that was done before.
  bool close();
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  /// Returns true if the calling thread holds the turn.
  [[nodiscard]] bool is_inside_turn() const { return turn_.is_held_here(); }

 private:
  // ---- Submitting ----
  void enqueue(Operation& operation, bool fail_when_full);
  /// Queues an operation; waits for capacity. Returns false if it has been refused instead.
  /// `may_work`: the thread may take the turn to free capacity.
  bool push(Operation& operation, bool fail_when_full, bool may_work);
  /// Returns the error for an operation that cannot be queued; empty if it can wait for capacity.
  [[nodiscard]] std::string_view refusal(const Operation& operation, bool fail_when_full) const;
  void wait_for_capacity(const Operation& operation, std::uint32_t times_freed);

  // ---- Waiting ----
  /// Returns false if the operation was abandoned, because it had not begun at its deadline.
  bool wait_until_replied(Operation& operation);
  /// As wait_until_replied(), for a callback on the service thread: it may have to run the queue.
  bool serve_until_replied(Operation& operation);

  // ---- Working ----
  [[nodiscard]] bool callers_work() const {
    return is_manual_ || options_.policy == EngineOptions::Policy::kCallers;
  }
  /// Runs commit batches (`own` first, if not null) until the queue is empty or the share is done.
  /// The thread holds the turn at the beginning, and not at the end.
  void work(Operation* own, TurnShare share);
  [[nodiscard]] TurnShare share_of_caller(std::span<const Operation* const> own) const;
  /// Hands the turn to the submitter of the next operation. Returns false, and keeps the turn, if
  /// there is no operation or no thread waits for it.
  bool hand_over();

  const EngineOptions& options_;
  const bool is_manual_;
  const Clock& clock_;
  OperationQueue& queue_;
  CommitBatch& batch_;
  DueWork& due_work_;
  ReplySender& sender_;
  ServiceThread& service_;
  Turn turn_;
  std::atomic<bool> is_closed_{false};
};

}  // namespace rushgate
