// The bits of byte strings. Bit 0 is the most significant bit of the first byte, as in Redis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

inline constexpr unsigned kByteBits = 8;

/// The bits from `begin` on, before `end`.
struct BitRange {
  std::uint64_t begin;
  std::uint64_t end;

  [[nodiscard]] bool empty() const { return begin >= end; }
};

/// Returns a bit; false beyond the end.
inline bool bit_at(std::string_view bytes, std::uint64_t position) {
  const std::uint64_t byte = position / kByteBits;
  if (byte >= bytes.size()) return false;
  const unsigned shift = kByteBits - 1 - position % kByteBits;
  const unsigned bits = static_cast<unsigned char>(bytes[byte]);
  return (bits >> shift & 1U) != 0;
}

/// Counts the bits in the range that are 1. The range must end within the bytes.
std::uint64_t count_bits(std::string_view bytes, BitRange range);

/// Returns the position of the first bit in the range that equals `bit`; empty if there is none.
/// The range must end within the bytes.
std::optional<std::uint64_t> find_bit(std::string_view bytes, BitRange range, bool bit);

/// Returns `count` bits as an unsigned integer, at most 64. Bits beyond the end are 0.
std::uint64_t read_bits(std::string_view bytes, std::uint64_t position, unsigned count);

/// Replaces `count` bits, at most 64, by the lowest bits of `value`. They must end within the bytes.
void write_bits(std::string& bytes, std::uint64_t position, unsigned count, std::uint64_t value);

}  // namespace rushgate
