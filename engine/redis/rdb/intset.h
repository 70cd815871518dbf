// An intset: Redis's encoding of a small set of integers.
//
//   intset = bytes per integer: 2, 4 or 8 (4), number of integers (4), the integers in ascending
//            order
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate::rdb {

/// Returns the integers in decimal form; empty if the intset is invalid.
std::optional<std::vector<std::string>> read_intset(std::string_view bytes);

/// Returns the intset of these integers, which must be ascending, and fewer than 2^32.
std::string write_intset(const std::vector<std::int64_t>& integers);

}  // namespace rushgate::rdb
