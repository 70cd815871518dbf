// A number of bytes as people write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// "100", "64kb", "1G", …: k, m and g are powers of 1,000, kb, mb and gb of 1,024. A count that 64
/// bits do not hold is their greatest; what the unit makes of it wraps around. (Redis's memtoull.)
std::optional<std::uint64_t> parse_memory_size(std::string_view text);

/// The same, but for what Redis takes silently: nothing without digits, nor what 64 bits do not
/// hold.
std::optional<std::uint64_t> parse_memory_size_strictly(std::string_view text);

/// About, in a few characters: "1.21M". (Redis's bytesToHuman.)
std::string shown_memory_size(std::uint64_t bytes);

}  // namespace rushgate
