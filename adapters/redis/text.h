// String helpers. Private to this module.
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/core/base/concat.h"

namespace rushgate {

/// Compares ignoring case. `upper` must have no lower-case letters.
inline bool equals_ignore_case(std::string_view text, std::string_view upper) {
  return std::equal(text.begin(), text.end(), upper.begin(), upper.end(), [](char c, char wanted) {
    return (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c) == wanted;
  });
}

}  // namespace rushgate
