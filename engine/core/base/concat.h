// Concatenation of strings and integers. absl::StrCat() of Debian 12 takes no std::string_view, so it is
// used only for hexadecimal numbers.
#pragma once

#include <string>
#include <type_traits>

#include "engine/core/base/numbers.h"

namespace rushgate {

/// Returns concat("user ", 5, " of ", name) as one string. Integers are written in decimal.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string all;
  const auto append = [&all](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_integral_v<Part> && std::is_unsigned_v<Part>) {
      all.append(DecimalText::of_unsigned(part).view());
    } else if constexpr (std::is_integral_v<Part>) {
      all.append(DecimalText(part).view());
    } else if constexpr (requires { all.append(part.data(), part.size()); }) {
      all.append(part.data(), part.size());  // also absl's string_view of Debian 12
    } else {
      all.append(part);
    }
  };
  (append(parts), ...);
  return all;
}

}  // namespace rushgate
