// The result of one draw.
#pragma once

#include <cstdint>

namespace rushgate {

/// Counters of one day that no other draw ever returns; from DatedCounters, whole ids.
struct IdRange {
  std::int64_t next = 0;
  std::int64_t end = 0;          // the first one after the range
  std::int64_t seconds_min = 0;  // since 1970: no id of the range may be of an earlier second
  std::int64_t drawn_at_ms = 0;  // before the draw was sent; monotonic
};

}  // namespace rushgate
