#include "engine/redis/rdb/lzf.h"

#include <algorithm>
#include <cstdint>

#include "engine/redis/rdb/byte_cursor.h"

namespace rushgate::rdb {
namespace {

// The input is a sequence of literals and repetitions:
//
//   literal      000nnnnn, n + 1 bytes
//   repetition   lllooooo, oooooooo: l + 2 bytes from the position o + 1 bytes before the end
//                111ooooo, llllllll, oooooooo: the same for l + 9 bytes
constexpr unsigned kLiteralMax = 0x1f;
constexpr unsigned kLengthShift = 5;
constexpr unsigned kLongLength = 7;
constexpr unsigned kOffsetMask = 0x1f;
constexpr std::size_t kShortestRepetition = 2;

/// A repetition of three bytes yields up to 264.
constexpr std::size_t kExpansionMax = 88;

/// Appends `length` bytes from `distance` bytes before the end. They may overlap the new ones.
void repeat(std::string& out, std::size_t distance, std::size_t length) {
  const std::size_t from = out.size() - distance;
  while (length > 0) {
    const std::size_t count = std::min(out.size() - from, length);
    out.append(out, from, count);
    length -= count;
  }
}

}  // namespace

std::optional<std::string> decompress_lzf(std::string_view compressed, std::size_t size) {
  if (size / kExpansionMax > compressed.size()) return std::nullopt;
  std::string out;
  out.reserve(size);
  ByteCursor in(compressed);
  while (!in.empty()) {
    const unsigned head = in.byte();
    if (head <= kLiteralMax) {
      const std::string_view literal = in.take(head + 1);
      if (!in.ok() || literal.size() > size - out.size()) return std::nullopt;
      out.append(literal);
      continue;
    }
    std::size_t length = head >> kLengthShift;
    if (length == kLongLength) length += in.byte();
    length += kShortestRepetition;
    const std::size_t distance = ((head & kOffsetMask) << 8 | in.byte()) + 1;
    if (!in.ok() || distance > out.size() || length > size - out.size()) return std::nullopt;
    repeat(out, distance, length);
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

}  // namespace rushgate::rdb
