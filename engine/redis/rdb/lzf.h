// Decompresses LZF, in which Redis stores long strings.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate::rdb {

/// Returns the `size` bytes that were compressed to `compressed`; empty if there are more or fewer,
/// or if the input is invalid. Allocates nothing if no input of this length expands to so many
/// bytes.
std::optional<std::string> decompress_lzf(std::string_view compressed, std::size_t size);

}  // namespace rushgate::rdb
