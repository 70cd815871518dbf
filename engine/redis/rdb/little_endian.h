// Integers in little-endian order, as Redis stores them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace rushgate::rdb {

/// Reads the integer at the beginning of `bytes`, which must be long enough.
template <std::integral Integer>
Integer load_little_endian(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  Integer value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

/// Appends an integer.
template <std::integral Integer>
void append_little_endian(std::string& out, Integer value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

}  // namespace rushgate::rdb
