#pragma once

#include <cstdint>

namespace rushgate::bench {

/// Returns the `number`th user. Numbers below 2^40 have distinct users, in no order, of about 12
/// digits.
inline std::int64_t user_id(std::int64_t number) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 40) - 1;
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(number) * kOdd) & kMask);
}

}  // namespace rushgate::bench
