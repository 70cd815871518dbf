// Checks UTF-8.
#pragma once

#include <string_view>

namespace rushgate {

/// Returns true if the bytes are UTF-8 (RFC 3629): without overlong forms and surrogates.
bool is_utf8(std::string_view bytes);

}  // namespace rushgate
