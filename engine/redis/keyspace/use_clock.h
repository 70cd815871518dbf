// The times of the last uses of keys. Each has 24 bits, as in Redis.
#pragma once

#include <cstdint>

#include "engine/core/base/time_units.h"

namespace rushgate {

/// A time in seconds. It wraps after 194 days.
class UseClock {
 public:
  static constexpr std::uint32_t kMax = (1U << 24) - 1;

  /// `now_ms`: ms since 1970 UTC. Returns true if the time in seconds has changed.
  bool set_now_ms(std::int64_t now_ms) {
    const std::uint32_t before = now_;
    now_ = static_cast<std::uint32_t>(now_ms / kMsPerSecond) & kMax;
    return now_ != before;
  }
  [[nodiscard]] std::uint32_t now() const { return now_; }

  /// Returns the seconds since a use.
  [[nodiscard]] std::uint32_t idle_s(std::uint32_t last_use) const {
    return now_ >= last_use ? now_ - last_use : now_ + (kMax - last_use);
  }
  /// Returns the time of a use `idle_s` seconds ago, modulo the clock's range.
  [[nodiscard]] std::uint32_t last_use(std::int64_t idle_s) const {
    const std::uint32_t lap = idle_s <= now_ ? 0 : kMax;
    return (now_ + lap - static_cast<std::uint32_t>(idle_s)) & kMax;
  }

 private:
  std::uint32_t now_ = 0;
};

}  // namespace rushgate
