#include "engine/core/base/percent_encoding.h"

#include <cstddef>

namespace rushgate {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view part) {
  std::string decoded;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      decoded += part[i];
      continue;
    }
    const auto high = i + 1 < part.size() ? hex_digit(part[i + 1]) : std::nullopt;
    const auto low = i + 2 < part.size() ? hex_digit(part[i + 2]) : std::nullopt;
    if (!high || !low) return std::nullopt;
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return decoded;
}

}  // namespace rushgate
