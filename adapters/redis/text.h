// Small helpers for text. Private to this room. (Debian's absl has a string_view of its own, which
// keeps absl's helpers from std::string_view.)
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rushgate {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string all;
  (all.append(std::string_view(parts)), ...);
  return all;
}

/// `upper` must have no lower-case letters.
inline bool equals_ignore_case(std::string_view text, std::string_view upper) {
  return std::equal(text.begin(), text.end(), upper.begin(), upper.end(), [](char c, char wanted) {
    return (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c) == wanted;
  });
}

}  // namespace rushgate
