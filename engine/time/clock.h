// Where every part of Rushgate gets the time from. Nothing else asks the operating system.
#pragma once

#include <cstdint>

namespace rushgate {

/// A port: the time of day, and a time that never goes back.
/// Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The time of day: ms since 1970-01-01 00:00 UTC. May jump either way when the machine's clock
  /// is set.
  [[nodiscard]] virtual std::int64_t now_ms() const = 0;

  /// Ms since some fixed moment of this process; never goes back. For durations and leases.
  [[nodiscard]] virtual std::int64_t monotonic_ms() const = 0;

  /// The same in µs, as finely as the clock can tell.
  [[nodiscard]] virtual std::int64_t monotonic_us() const {
    constexpr std::int64_t kUsPerMs = 1'000;
    return monotonic_ms() * kUsPerMs;
  }
};

/// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const override;
  [[nodiscard]] std::int64_t monotonic_ms() const override;
  [[nodiscard]] std::int64_t monotonic_us() const override;
};

}  // namespace rushgate
