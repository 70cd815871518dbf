#include "engine/core/base/bits.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace rushgate {
namespace {

using Word = std::uint64_t;

/// Returns a word, in the byte order of the machine.
Word word_at(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Counts the bits of a word that are 1.
std::uint64_t ones_in(Word word) { return static_cast<std::uint64_t>(std::popcount(word)); }

/// Adds three bits at each place of the words. Leaves the sums in `sum` and returns the carries.
Word add(Word& sum, Word a, Word b) {
  const Word either = sum ^ a;
  const Word carry = (sum & a) | (either & b);
  sum = either ^ b;
  return carry;
}

/// Counts the bits that are 1. Adds eight words with carries and counts the carries alone, because
/// std::popcount() is slow unless the compiler may assume the processor's instruction.
std::uint64_t count_all(std::string_view bytes) {
  constexpr std::size_t kStep = 8 * sizeof(Word);
  std::uint64_t eights = 0;
  Word fours = 0;
  Word twos = 0;
  Word ones = 0;
  for (; bytes.size() >= kStep; bytes.remove_prefix(kStep)) {
    const auto word = [&](std::size_t i) { return word_at(bytes.data() + i * sizeof(Word)); };
    const Word twos_a = add(ones, word(0), word(1));
    const Word twos_b = add(ones, word(2), word(3));
    const Word twos_c = add(ones, word(4), word(5));
    const Word twos_d = add(ones, word(6), word(7));
    const Word fours_a = add(twos, twos_a, twos_b);
    const Word fours_b = add(twos, twos_c, twos_d);
    eights += ones_in(add(fours, fours_a, fours_b));
  }
  std::uint64_t count = 8 * eights + 4 * ones_in(fours) + 2 * ones_in(twos) + ones_in(ones);
  for (const char byte : bytes) count += ones_in(static_cast<unsigned char>(byte));
  return count;
}

}  // namespace

std::uint64_t count_bits(std::string_view bytes, BitRange range) {
  if (range.empty()) return 0;
  const std::uint64_t first = range.begin / kByteBits;
  const std::uint64_t last = (range.end - 1) / kByteBits;
  const auto before = static_cast<unsigned>(range.begin % kByteBits);
  const auto after = static_cast<unsigned>((last + 1) * kByteBits - range.end);
  return count_all(bytes.substr(first, last - first + 1)) -
         ones_in(read_bits(bytes, first * kByteBits, before)) -
         ones_in(read_bits(bytes, range.end, after));
}

std::optional<std::uint64_t> find_bit(std::string_view bytes, BitRange range, bool bit) {
  constexpr std::uint64_t kWordBits = sizeof(Word) * kByteBits;
  const Word none = bit ? 0 : ~Word{0};
  std::uint64_t at = range.begin;
  while (at < range.end) {
    const bool begins_word = at % kByteBits == 0 && range.end - at >= kWordBits;
    if (begins_word && word_at(bytes.data() + at / kByteBits) == none) {
      at += kWordBits;
    } else if (bit_at(bytes, at) == bit) {
      return at;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

std::uint64_t read_bits(std::string_view bytes, std::uint64_t position, unsigned count) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i)
    value = value << 1 | static_cast<std::uint64_t>(bit_at(bytes, position + i));
  return value;
}

void write_bits(std::string& bytes, std::uint64_t position, unsigned count, std::uint64_t value) {
  for (std::uint64_t at = position + count; at > position; value >>= 1) {
    --at;
    const unsigned mask = 1U << (kByteBits - 1 - at % kByteBits);
    const unsigned byte = static_cast<unsigned char>(bytes[at / kByteBits]);
    bytes[at / kByteBits] = static_cast<char>((value & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

}  // namespace rushgate
