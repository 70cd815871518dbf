// Percent-encoding in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// Returns the value of a hexadecimal digit, in either case, or nothing if it is none.
std::optional<unsigned> hex_digit(char c);

/// Decodes a part of a URL. Returns nothing if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view part);

}  // namespace rushgate
