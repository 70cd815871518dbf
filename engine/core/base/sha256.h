// SHA-256, for one purpose only: ACL LIST and ACL GETUSER show the digest of a password.
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Returns the digest of `data` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view data);

}  // namespace rushgate
