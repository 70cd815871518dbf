// The layout of an id: seconds above, the counter of a day below.
#pragma once

#include <cstdint>

namespace rushgate {

/// A value type. An id is a positive 64-bit number: (seconds since the epoch) << counter_bits |
/// counter. Times are seconds since 1970-01-01 00:00 UTC, days are days since then.
struct IdLayout {
  std::int64_t epoch_seconds = 1'640'995'200;  // 2022-01-01 00:00 UTC
  int counter_bits = 32;                       // of 63
  int utc_offset_minutes = 0;                  // of the clock that begins a day at 00:00

  static constexpr std::int64_t kDaySeconds = 24 * 60 * 60;

  [[nodiscard]] constexpr std::int64_t counter_max() const {
    return (std::int64_t{1} << counter_bits) - 1;
  }
  /// Returns the last second that an id can have.
  [[nodiscard]] constexpr std::int64_t seconds_max() const {
    return epoch_seconds + (std::int64_t{1} << (63 - counter_bits)) - 1;
  }

  [[nodiscard]] constexpr std::int64_t make(std::int64_t seconds, std::int64_t counter) const {
    return (seconds - epoch_seconds) << counter_bits | counter;
  }
  [[nodiscard]] constexpr std::int64_t counter_of(std::int64_t id) const {
    return id & counter_max();
  }
  [[nodiscard]] constexpr std::int64_t seconds_of(std::int64_t id) const {
    return (id >> counter_bits) + epoch_seconds;
  }
  /// Returns when an id was drawn: ms since 1970 UTC, to the second.
  [[nodiscard]] constexpr std::int64_t made_at_ms(std::int64_t id) const {
    return seconds_of(id) * 1'000;
  }

  [[nodiscard]] constexpr std::int64_t day_of(std::int64_t seconds) const {
    const std::int64_t local = seconds + std::int64_t{utc_offset_minutes} * 60;
    return local / kDaySeconds - (local % kDaySeconds < 0 ? 1 : 0);
  }
  /// Returns the first second of a day.
  [[nodiscard]] constexpr std::int64_t begin_of(std::int64_t day) const {
    return day * kDaySeconds - std::int64_t{utc_offset_minutes} * 60;
  }
};

}  // namespace rushgate
