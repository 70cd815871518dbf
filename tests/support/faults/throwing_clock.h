// A clock that throws.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <thread>

#include <rushgate/clock.h>

namespace rushgate {

/// The system clock, except that one read of it throws, on one thread.
class ThrowingClock final : public Clock {
 public:
  struct Plan {
    std::thread::id thread;
    std::optional<std::uint64_t> looks_before;  // empty: it has thrown, or must not throw
  };

  explicit ThrowingClock(Plan& plan) : plan_(plan) {}
  [[nodiscard]] std::int64_t now_ms() const override {
    look();
    return system_.now_ms();
  }
  [[nodiscard]] std::int64_t monotonic_ms() const override {
    look();
    return system_.monotonic_ms();
  }

 private:
  void look() const {
    if (std::this_thread::get_id() != plan_.thread || !plan_.looks_before) return;
    if ((*plan_.looks_before)-- > 0) return;
    plan_.looks_before.reset();
    throw std::bad_alloc();
  }

  const SystemClock system_;
  Plan& plan_;
};

}  // namespace rushgate
