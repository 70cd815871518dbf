// A clock that moves only on request, for tests and simulations.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/time/clock.h"

namespace rushgate {

/// Thread-safe. Both times move together, except that set_now_ms() changes only the time of day, as
/// setting a machine's clock does.
class ManualClock final : public Clock {
 public:
  /// 2023-11-14 22:13:20 UTC, an arbitrary moment.
  static constexpr std::int64_t kStartMs = 1'700'000'000'000;

  explicit ManualClock(std::int64_t now_ms = kStartMs) : now_ms_(now_ms) {}

  [[nodiscard]] std::int64_t now_ms() const override { return now_ms_.load(); }
  [[nodiscard]] std::int64_t monotonic_ms() const override { return monotonic_ms_.load(); }

  void advance_ms(std::int64_t duration_ms) {
    now_ms_ += duration_ms;
    monotonic_ms_ += duration_ms;
  }
  void set_now_ms(std::int64_t now_ms) { now_ms_ = now_ms; }

 private:
  std::atomic<std::int64_t> now_ms_;
  std::atomic<std::int64_t> monotonic_ms_{0};
};

}  // namespace rushgate
