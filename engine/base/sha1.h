// SHA-1, for one purpose only: a script's name is the SHA-1 of its source (EVALSHA, SCRIPT LOAD).
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Returns the digest of `data` as 40 lower-case hexadecimal digits.
std::string sha1_hex(std::string_view data);

}  // namespace rushgate
