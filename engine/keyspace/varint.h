// Numbers in as many bytes as they need, seven bits a byte, the lowest first (LEB128).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rushgate {

inline void append_varint(std::string& out, std::uint64_t value) {
  if (value < 0x80) return out.push_back(static_cast<char>(value));
  constexpr std::size_t kLongest = 10;
  char bytes[kLongest];
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  out.append(bytes, size);
}

/// Zigzag: 0, -1, 1, -2, … become 0, 1, 2, 3, …
inline std::uint64_t fold(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unfold(std::uint64_t folded) {
  return static_cast<std::int64_t>((folded >> 1) ^ (~(folded & 1) + 1));
}

}  // namespace rushgate
