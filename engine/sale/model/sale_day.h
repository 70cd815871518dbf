// The days by which a limit per user and day counts.
#pragma once

#include <cstdint>

#include "engine/core/base/time_units.h"

namespace rushgate {

/// Returns the number of the day since 1970-01-01 at a fixed UTC offset; negative before it. Rounds
/// down, as the admission script does.
constexpr std::int64_t sale_day(std::int64_t ms_since_1970, std::int64_t utc_offset_minutes) {
  const std::int64_t local_ms = ms_since_1970 + utc_offset_minutes * kMinuteMs;
  return local_ms / kDayMs - (local_ms % kDayMs < 0 ? 1 : 0);
}

}  // namespace rushgate
