#include <chrono>

#include <rushgate/clock.h>

namespace rushgate {
namespace {

template <class Unit, class ClockType>
std::int64_t since_epoch() {
  return std::chrono::duration_cast<Unit>(ClockType::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t SystemClock::now_ms() const {
  return since_epoch<std::chrono::milliseconds, std::chrono::system_clock>();
}

std::int64_t SystemClock::monotonic_ms() const {
  return since_epoch<std::chrono::milliseconds, std::chrono::steady_clock>();
}

std::int64_t SystemClock::monotonic_us() const {
  return since_epoch<std::chrono::microseconds, std::chrono::steady_clock>();
}

}  // namespace rushgate
