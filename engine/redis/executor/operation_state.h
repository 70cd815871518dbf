// The state of a submitted operation, shared by its submitter and the thread that holds the turn.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/core/base/futex.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Thread-safe.
class OperationState {
 public:
  enum Value : std::uint32_t {
    kQueued,     // no thread sleeps on it
    kSleeping,   // queued, and its submitter sleeps
    kRunning,    // has begun: it can no longer be abandoned
    kHasTurn,    // its submitter waited, has the turn now, and must run it
    kReplied,    // replies are complete
    kAbandoned,  // its submitter gave up while it was queued; the executor deletes it
  };

  // ---- The thread that holds the turn ----

  /// Ends the time in which the submitter may abandon the operation. Returns false if it has
  /// abandoned it.
  [[nodiscard]] bool begin();
  /// Passes the turn to the submitter. Both this and report_replies() wake it. The operation may be
  /// gone when they return.
  void pass_turn() { wake_with(kHasTurn); }
  void report_replies() { wake_with(kReplied); }

  // ---- The submitter ----

  [[nodiscard]] bool is_replied() const {
    return value_.load(std::memory_order_acquire) == kReplied;
  }
  /// Returns true if the operation is queued and not abandoned.
  [[nodiscard]] bool is_waiting() const {
    const std::uint32_t value = value_.load(std::memory_order_acquire);
    return value == kQueued || value == kSleeping;
  }
  /// Returns false if the operation has begun.
  [[nodiscard]] bool abandon();
  /// Sets the state to kRunning, after kHasTurn.
  void run_in_own_turn() { value_ = kRunning; }
  /// Blocks until the state is kHasTurn or kReplied, and returns it. If the operation has not begun
  /// at `deadline_ms` (monotonic; 0: none), abandons it and returns kAbandoned.
  Value wait(const Clock& clock, std::int64_t deadline_ms);

 private:
  void wake_with(Value value) {
    // The submitter may be gone with this object as soon as the value is set.
    const std::uint32_t before = value_.exchange(value, std::memory_order_acq_rel);
    if (before != kQueued) futex_wake(&value_);
  }
  /// Reads the value for about the duration of a small batch. Returns it if it ends a wait().
  [[nodiscard]] bool spin(Value& value) const;

  std::atomic<std::uint32_t> value_{kQueued};
};

}  // namespace rushgate
