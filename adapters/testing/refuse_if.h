// What the kit says to options that make no sense.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace rushgate::testing {

/// Throws std::invalid_argument.
inline void refuse_if(bool is_wrong, const char* reason) {
  if (is_wrong) throw std::invalid_argument(reason);
}

/// Of a rush and of what happens in it: 24 days.
inline constexpr std::int64_t kLongestMs = std::int64_t{1} << 31;

}  // namespace rushgate::testing
