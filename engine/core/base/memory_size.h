// Parses and formats numbers of bytes with units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// Parses "100", "64kb", "1G", …: k, m, g are powers of 1,000; kb, mb, gb of 1,024. Numbers above
/// 64 bits become the largest; products wrap around. (Redis's memtoull.)
std::optional<std::uint64_t> parse_memory_size(std::string_view text);

/// As parse_memory_size(), but rejects strings without digits and values that do not fit 64
/// bits.
std::optional<std::uint64_t> parse_memory_size_strictly(std::string_view text);

/// Returns `bytes` rounded, with a unit: "1.21M". (Redis's bytesToHuman.)
std::string shown_memory_size(std::uint64_t bytes);

}  // namespace rushgate
