// The port for timers.
#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"

namespace rushgate {

/// Runs callbacks at given times. Thread-safe. Callbacks run one at a time, never inside the
/// executor's turn, so they may use a Client.
class Scheduler {
 public:
  using TimerId = std::uint64_t;
  using Callback = absl::AnyInvocable<void()>;

  virtual ~Scheduler() = default;

  /// Runs `callback` once, when the clock's monotonic time has reached `monotonic_ms`. Callbacks
  /// with the same time run in the order of scheduling.
  virtual TimerId at(std::int64_t monotonic_ms, Callback callback) = 0;

  /// Cancels a callback. Returns true if it had not begun; it will not run then. Returns false if
  /// it has run, is running, or was cancelled before.
  virtual bool cancel(TimerId timer) = 0;
};

}  // namespace rushgate
