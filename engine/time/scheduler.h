// Work to be done later: a port, like the clock.
#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"

namespace rushgate {

/// Runs callbacks at their time. Thread-safe. Callbacks run one at a time, never inside the
/// executor's turn, so they may use a Client.
class Scheduler {
 public:
  using TimerId = std::uint64_t;
  using Callback = absl::AnyInvocable<void()>;

  virtual ~Scheduler() = default;

  /// Runs `callback` once, as soon as the clock's monotonic time has reached `monotonic_ms`.
  /// Callbacks due at the same time run in the order in which they were scheduled.
  virtual TimerId at(std::int64_t monotonic_ms, Callback callback) = 0;

  /// True if the callback had not begun; it will not run then. False if it has run, is running, or
  /// was cancelled.
  virtual bool cancel(TimerId timer) = 0;
};

}  // namespace rushgate
