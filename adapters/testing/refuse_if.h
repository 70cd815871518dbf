// The exception of this module for invalid options.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace rushgate::testing {

/// Throws std::invalid_argument if `is_wrong`.
inline void refuse_if(bool is_wrong, const char* reason) {
  if (is_wrong) throw std::invalid_argument(reason);
}

/// The maximum duration in a rush: 24 days.
inline constexpr std::int64_t kLongestMs = std::int64_t{1} << 31;

}  // namespace rushgate::testing
