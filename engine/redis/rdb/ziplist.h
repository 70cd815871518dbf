// A ziplist: the encoding of short sequences before Redis 7.
//
//   ziplist   = total bytes (4), offset of the last element (4), number of elements (2; 65535:
//               unknown), element*, 11111111
//   element   = size of the element before: 1 byte, or 11111110 and 4 bytes; head, bytes
//   head      = 00nnnnnn                    a string of n bytes
//               01nnnnnn, n                 the same: 14 bits, big-endian
//               10000000, 4 bytes           the same: 32 bits, big-endian
//               11000000, 11010000, 11100000, 11110000, 11111110
//                                           a signed integer of 2, 4, 8, 3, 1 bytes
//               1111nnnn                    the integer n - 1, from 0 to 12
//
// Other numbers are little-endian.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate::rdb {

/// Returns the elements of a ziplist; empty if it is invalid. An integer becomes its decimal form.
std::optional<std::vector<std::string>> read_ziplist(std::string_view bytes);

}  // namespace rushgate::rdb
