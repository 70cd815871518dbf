// The wait of one take(), by several blocking commands in a row.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <rushgate/clock.h>

namespace rushgate {

/// Lives as long as one take(). For one thread.
class QueueWait {
 public:
  /// `interrupts` is the number of interrupts of the queue.
  QueueWait(const Clock& clock, std::int64_t wait_ms, const std::atomic<std::uint64_t>& interrupts)
      : clock_(clock),
        deadline_ms_(clock.monotonic_ms() + wait_ms),
        interrupts_(interrupts),
        interrupts_before_(interrupts.load()) {}

  /// Begins a blocking command. Returns the longest time that it may wait; 0: not at all.
  std::int64_t begin(std::int64_t block_ms_max) {
    began_us_ = clock_.monotonic_us();
    const std::int64_t left_ms = deadline_ms_ - clock_.monotonic_ms();
    return std::clamp<std::int64_t>(left_ms, 0, std::max<std::int64_t>(1, block_ms_max));
  }

  /// Returns true if another command may follow one that ended without a message. In manual mode
  /// the command ends at once, and so would the next: the clock stands still.
  [[nodiscard]] bool may_go_on() const {
    return interrupts_.load() == interrupts_before_ && clock_.monotonic_us() != began_us_ &&
           clock_.monotonic_ms() < deadline_ms_;
  }

 private:
  const Clock& clock_;
  const std::int64_t deadline_ms_;  // monotonic
  const std::atomic<std::uint64_t>& interrupts_;
  const std::uint64_t interrupts_before_;
  std::int64_t began_us_ = 0;
};

}  // namespace rushgate
