// The operations that wait to run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/lockfree/queue.hpp>

#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/reply_sender.h"
#include <rushgate/clock.h>

namespace rushgate {

/// A bounded queue in the order of submission. In front of it are the operations that have begun in
/// an earlier commit batch. Does not own the operations.
class OperationQueue {
 public:
  OperationQueue(std::size_t capacity, const Clock& clock, ReplySender& sender)
      : clock_(clock), sender_(sender), queued_(capacity) {}

  // ---- Any thread ----

  /// Returns false if the queue is full.
  bool push(Operation& operation) { return queued_.push(&operation); }
  [[nodiscard]] bool empty() const { return queued_.empty(); }
  /// Replies `error` to all queued operations.
  void refuse_all(std::string_view error);

  /// Returns how many times capacity was freed. Must be called before push(); wait_for_capacity()
  /// takes the result.
  [[nodiscard]] std::uint32_t times_freed() const { return times_freed_.load(); }
  /// Blocks until capacity is freed after `times_freed` was read, for at most `sleep_ms`. May
  /// return early.
  void wait_for_capacity(std::uint32_t times_freed, std::int64_t sleep_ms);

  // ---- The thread that holds the turn ----

  /// Removes and returns the operation that runs next: one that has begun earlier, then `own`,
  /// which becomes null, then a queued one. Returns null if there is none.
  Operation* next(Operation*& own);
  /// Removes, begins and returns the first queued operation; null if there is none. Refuses or
  /// deletes operations whose deadline has passed.
  Operation* pop();

  /// Makes an operation that has begun the very next one.
  void put_back(Operation& operation) { unfinished_ = &operation; }
  /// Makes an operation that has begun run before the queued ones. Needs no memory.
  void resume(Operation& operation) { resumed_.push_back(operation); }
  /// Returns true if an operation that has begun must continue.
  [[nodiscard]] bool has_begun() const { return unfinished_ != nullptr || !resumed_.empty(); }

  /// Wakes the threads that wait for capacity, if operations were removed since the last call.
  void report_freed_capacity();

 private:
  /// Returns false if the operation is gone: abandoned or timed out.
  bool begin(Operation& operation);

  const Clock& clock_;
  ReplySender& sender_;
  boost::lockfree::queue<Operation*, boost::lockfree::fixed_sized<true>> queued_;
  std::atomic<std::uint32_t> times_freed_{0};  // slept on
  std::atomic<std::uint32_t> waiting_for_capacity_{0};

  // ---- Guarded by the turn ----
  Operation* unfinished_ = nullptr;  // a long pipeline that continues in the next batch, or an
                                     // operation whose submitter gets the turn
  OperationList<&Operation::next> resumed_;  // served while blocked, with more requests to run
  bool has_freed_ = false;                   // capacity, since report_freed_capacity()
};

}  // namespace rushgate
