// The wait of one take(), by several blocking commands one after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/time/clock.h"

namespace rushgate {

/// Lives as long as one take(). For one thread.
class QueueWait {
 public:
  using Interrupts = std::atomic<std::uint64_t>;  // how many there were

  QueueWait(const Clock& clock, std::int64_t wait_ms, const Interrupts& interrupts)
      : clock_(clock),
        deadline_ms_(clock.monotonic_ms() + wait_ms),
        interrupts_(interrupts),
        interrupts_before_(interrupts.load()) {}

  /// Begins a blocking command. Returns how long it may wait, at most `block_ms_max`; 0: not at all.
  std::int64_t begin(std::int64_t block_ms_max) {
    began_us_ = clock_.monotonic_us();
    const std::int64_t left_ms = deadline_ms_ - clock_.monotonic_ms();
    return std::clamp<std::int64_t>(left_ms, 0, std::max<std::int64_t>(1, block_ms_max));
  }

  /// Returns true if a command that ended without a message may be followed by another. In manual mode
  /// it ends at once, and would end so again: the clock stands still.
  [[nodiscard]] bool may_go_on() const {
    return interrupts_.load() == interrupts_before_ && clock_.monotonic_us() != began_us_ &&
           clock_.monotonic_ms() < deadline_ms_;
  }

 private:
  const Clock& clock_;
  const std::int64_t deadline_ms_;  // monotonic
  const Interrupts& interrupts_;
  const std::uint64_t interrupts_before_;
  std::int64_t began_us_ = 0;
};

}  // namespace rushgate
