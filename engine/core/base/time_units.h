// Units of time, and the offsets of time zones.
#pragma once

#include <cstdint>
#include <string_view>

namespace rushgate {

inline constexpr std::int64_t kMsPerSecond = 1'000;
inline constexpr std::int64_t kUsPerMs = 1'000;
inline constexpr std::int64_t kNsPerUs = 1'000;

inline constexpr std::int64_t kMinuteMs = 60'000;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;

/// Clocks of real places differ from UTC by -12 to +14 hours.
inline constexpr std::int64_t kUtcOffsetMinutesMin = -12 * 60;
inline constexpr std::int64_t kUtcOffsetMinutesMax = 14 * 60;
inline constexpr std::string_view kUtcOffsetFault = "must be from -720 to 840 (minutes)";
constexpr bool is_utc_offset(std::int64_t minutes) {
  return minutes >= kUtcOffsetMinutesMin && minutes <= kUtcOffsetMinutesMax;
}

}  // namespace rushgate
