// SHA-1, where Redis asks for it: a script's name is the SHA-1 of its source (EVALSHA, SCRIPT LOAD),
// and DEBUG DIGEST. The run id of INFO has its length.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace rushgate {

using Sha1 = std::array<unsigned char, 20>;

/// Returns the digest of `data`.
Sha1 sha1(std::string_view data);

/// Returns the digest as 40 lower-case hexadecimal digits.
std::string to_hex(const Sha1& digest);

/// Returns the digest of `data` as 40 lower-case hexadecimal digits.
std::string sha1_hex(std::string_view data);

}  // namespace rushgate
