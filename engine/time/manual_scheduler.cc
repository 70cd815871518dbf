#include "engine/time/manual_scheduler.h"

#include <algorithm>

namespace rushgate {

void ManualScheduler::advance_ms(std::int64_t duration_ms) {
  const std::int64_t end_ms = clock_.monotonic_ms() + duration_ms;
  while (true) {
    const auto due_ms = timers_.next_due_ms();
    if (!due_ms || *due_ms > end_ms) break;
    clock_.advance_ms(std::max<std::int64_t>(0, *due_ms - clock_.monotonic_ms()));
    (*timers_.take_due(clock_.monotonic_ms()))();
  }
  clock_.advance_ms(std::max<std::int64_t>(0, end_ms - clock_.monotonic_ms()));
}

}  // namespace rushgate
