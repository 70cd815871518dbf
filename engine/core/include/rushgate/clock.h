// The ports for the clock and for timers, the system's clock, and one that moves only on request.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/functional/any_invocable.h"

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
    constexpr std::int64_t kUsInMs = 1'000;
    return monotonic_ms() * kUsInMs;
  }
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const override;
  [[nodiscard]] std::int64_t monotonic_ms() const override;
  [[nodiscard]] std::int64_t monotonic_us() const override;
};

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

/// Runs callbacks at given times. Thread-safe. Callbacks run one at a time, never inside the
/// executor's turn, so they may use a Client.
class Scheduler {
 public:
  using TimerId = std::uint64_t;
  using Callback = absl::AnyInvocable<void()>;

  virtual ~Scheduler() = default;

  /// Runs `callback` once, when the clock's monotonic time has reached `monotonic_ms`. Callbacks
  /// with the same time run in the order of scheduling.
  virtual TimerId at(std::int64_t monotonic_ms, Callback callback) = 0;

  /// Cancels a callback. Returns true if it had not begun; it will not run then. Returns false if
  /// it has run, is running, or was cancelled before.
  virtual bool cancel(TimerId timer) = 0;
};

}  // namespace rushgate
