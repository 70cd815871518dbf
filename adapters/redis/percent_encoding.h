// "%XX" in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// Returns the text that a part of a URL stands for; nothing if a '%' is not followed by two
/// hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view part);

}  // namespace rushgate
