// Fast comparison of short byte strings, without a call to memcmp().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rushgate {

/// The first and the last bytes of a short string, 8 each if it has so many; they may overlap. Two
/// strings of one length are equal exactly if their words are.
struct ByteWords {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const ByteWords&, const ByteWords&) = default;
};

inline constexpr std::size_t kWordsBytesMax = 2 * sizeof(std::uint64_t);

/// Returns the words of `bytes`, which are at most kWordsBytesMax.
inline ByteWords words_of(std::string_view bytes) {
  const auto ends_as = [&]<class Word>(Word first) {
    Word last = 0;
    std::memcpy(&first, bytes.data(), sizeof(Word));
    std::memcpy(&last, bytes.data() + bytes.size() - sizeof(Word), sizeof(Word));
    return ByteWords{first, last};
  };
  if (bytes.size() >= sizeof(std::uint64_t)) return ends_as(std::uint64_t{});
  if (bytes.size() >= sizeof(std::uint32_t)) return ends_as(std::uint32_t{});
  if (bytes.size() >= sizeof(std::uint16_t)) return ends_as(std::uint16_t{});
  return bytes.empty() ? ByteWords{} : ends_as(std::uint8_t{});
}

/// Returns a == b. Faster than operator== for names.
inline bool same_bytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  return a.size() > kWordsBytesMax ? a == b : words_of(a) == words_of(b);
}

}  // namespace rushgate
