// The format of one value in Redis's snapshots (RDB), version 10, that of Redis 7.0. DUMP returns
//
//   payload = type (a byte), value, version (2 bytes), checksum (8 bytes)
//
// and the value is built from these parts:
//
//   length  = 00nnnnnn                      6 bits
//             01nnnnnn, n                   14 bits, big-endian
//             10000000, 4 bytes             32 bits, big-endian
//             10000001, 8 bytes             64 bits, big-endian
//   string  = length, bytes
//             11000000, 1 byte              an integer, whose decimal form is the string; likewise
//             11000001, 2 bytes             of 16 and of 32 bits, little-endian
//             11000010, 4 bytes
//             11000011, length of the compressed bytes, length, the compressed bytes (lzf.h)
//   real    = 8 bytes, little-endian
//   time    = 8 bytes, little-endian, in ms
//   id      = 16 bytes: ms, sequence number, big-endian
//   id pair = length (ms), length (sequence number)
//
// The values of each type: value_types.h.
#pragma once

#include <cstdint>

namespace rushgate::rdb {

inline constexpr std::uint16_t kVersion = 10;

/// The first byte of a length.
inline constexpr unsigned kLengthFormShift = 6;
inline constexpr unsigned kShortLengthMask = 0x3f;
inline constexpr unsigned kLength6 = 0;
inline constexpr unsigned kLength14 = 1;
inline constexpr unsigned kLengthEncoded = 3;  // a string that is not plain bytes
inline constexpr unsigned kLength32 = 0x80;
inline constexpr unsigned kLength64 = 0x81;

/// The lower bits of the first byte of such a string.
enum class StringForm : std::uint8_t { kInteger8 = 0, kInteger16 = 1, kInteger32 = 2, kLzf = 3 };

}  // namespace rushgate::rdb
