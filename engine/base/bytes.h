// Comparing a few bytes without calling anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rushgate {

/// a == b, faster for names: two overlapping words hold up to sixteen bytes.
inline bool same_bytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto same_words = [&]<class Word>(Word) {
    const auto word = [](const char* at) {
      Word value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    };
    const std::size_t last = a.size() - sizeof(Word);
    return word(a.data()) == word(b.data()) && word(a.data() + last) == word(b.data() + last);
  };
  if (a.size() > 2 * sizeof(std::uint64_t)) return a == b;
  if (a.size() >= sizeof(std::uint64_t)) return same_words(std::uint64_t{});
  if (a.size() >= sizeof(std::uint32_t)) return same_words(std::uint32_t{});
  if (a.size() >= sizeof(std::uint16_t)) return same_words(std::uint16_t{});
  return a.empty() || a.front() == b.front();
}

}  // namespace rushgate
