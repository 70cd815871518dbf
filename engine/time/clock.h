// The port for the time on which the engine's decisions depend. Measurements use the system's.
#pragma once

#include <cstdint>

namespace rushgate {

/// A port with two times: the time of day, and a monotonic time. Implementations are
/// thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns the time of day, ms since 1970-01-01 00:00 UTC. It may jump in either direction when
  /// the machine's clock is set.
  [[nodiscard]] virtual std::int64_t now_ms() const = 0;

  /// Returns ms since a fixed moment. Never goes back. Use it for durations and leases.
  [[nodiscard]] virtual std::int64_t monotonic_ms() const = 0;

  /// Returns the monotonic time in µs, at the resolution of the clock.
  [[nodiscard]] virtual std::int64_t monotonic_us() const {
    constexpr std::int64_t kUsPerMs = 1'000;
    return monotonic_ms() * kUsPerMs;
  }
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const override;
  [[nodiscard]] std::int64_t monotonic_ms() const override;
  [[nodiscard]] std::int64_t monotonic_us() const override;
};

}  // namespace rushgate
