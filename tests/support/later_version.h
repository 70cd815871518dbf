// Commands and options that came after the version of Redis that the engine reproduces. redis-server
// of Debian's packages does not know them.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "engine/core/base/version.h"

namespace rushgate::testing {

/// Returns the numbers of a version: "8.4.0".
inline std::array<int, 3> version_numbers(std::string_view version) {
  std::array<int, 3> numbers{};
  for (int& number : numbers) {
    std::from_chars(version.data(), version.data() + version.size(), number);
    version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
  }
  return numbers;
}

/// Returns true if `version` is later than kRedisVersion. An empty one is not.
inline bool is_later_version(std::string_view version) {
  return !version.empty() && version_numbers(version) > version_numbers(kRedisVersion);
}

}  // namespace rushgate::testing
