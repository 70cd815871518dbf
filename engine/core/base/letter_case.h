// Comparison of names without regard to case.
#pragma once

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"

namespace rushgate {

inline bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char left, char right) {
    return absl::ascii_tolower(static_cast<unsigned char>(left)) ==
           absl::ascii_tolower(static_cast<unsigned char>(right));
  });
}

}  // namespace rushgate
