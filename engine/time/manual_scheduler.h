// A scheduler on a manual clock, for tests without an engine. (An engine in manual mode is a
// Scheduler itself.)
#pragma once

#include <cstdint>
#include <utility>

#include "engine/time/timer_queue.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Not thread-safe. Does not own the clock.
class ManualScheduler final : public Scheduler {
 public:
  explicit ManualScheduler(ManualClock& clock) : clock_(clock) {}

  TimerId at(std::int64_t monotonic_ms, Callback callback) override {
    return timers_.add(monotonic_ms, std::move(callback));
  }
  bool cancel(TimerId timer) override { return timers_.remove(timer); }

  /// Moves the clock forward. Stops at the time of each due timer to run it, also of timers that
  /// callbacks set.
  void advance_ms(std::int64_t duration_ms);

 private:
  ManualClock& clock_;
  TimerQueue timers_;
};

}  // namespace rushgate
