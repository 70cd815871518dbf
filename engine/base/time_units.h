// Units of time.
#pragma once

#include <cstdint>

namespace rushgate {

inline constexpr std::int64_t kMsPerSecond = 1'000;
inline constexpr std::int64_t kUsPerMs = 1'000;
inline constexpr std::int64_t kNsPerUs = 1'000;

inline constexpr std::int64_t kMinuteMs = 60'000;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;

}  // namespace rushgate
