// Reads bytes from the beginning of a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rushgate::rdb {

/// Latches the first error; after it nothing is left, and everything reads as 0 or empty.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes = {}) : rest_(bytes) {}

  /// Returns the next `count` bytes. It is an error if fewer are left.
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(big_endian(1)); }
  /// Return the next `bytes` bytes, at most 8, as a number.
  std::uint64_t big_endian(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
  }
  std::uint64_t little_endian(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = taken.size(); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(taken[i]);
    }
    return value;
  }
  std::int64_t signed_little_endian(std::size_t bytes) {
    const std::size_t unused_bits = 8 * (sizeof(std::uint64_t) - bytes);
    return static_cast<std::int64_t>(little_endian(bytes) << unused_bits) >> unused_bits;
  }

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  [[nodiscard]] bool ok() const { return ok_; }
  /// Latches an error of the caller.
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace rushgate::rdb
