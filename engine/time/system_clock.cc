#include <chrono>

#include "engine/time/clock.h"

namespace rushgate {
namespace {

template <class ClockType>
std::int64_t ms_since_epoch() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(ClockType::now().time_since_epoch())
      .count();
}

}  // namespace

std::int64_t SystemClock::now_ms() const { return ms_since_epoch<std::chrono::system_clock>(); }

std::int64_t SystemClock::monotonic_ms() const {
  return ms_since_epoch<std::chrono::steady_clock>();
}

}  // namespace rushgate
