// Integers in variable length, seven bits a byte, lowest first (LEB128).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace rushgate {

/// Returns the size of an integer.
inline std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

/// Writes an integer, for which there must be space. Returns its end.
inline char* write_varint(char* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

/// Reads an integer, which must be valid, and moves `from` behind it.
inline std::uint64_t read_varint(const char*& from) {
  std::uint64_t value = static_cast<unsigned char>(*from++);
  if (value < 0x80) return value;
  value &= 0x7F;
  for (unsigned shift = 7;; shift += 7) {
    const auto part = static_cast<unsigned char>(*from++);
    value |= std::uint64_t{part & 0x7FU} << shift;
    if (part < 0x80) return value;
  }
}

/// Appends integers and bytes to a string through a buffer, because many small appends are slow.
/// The string is complete after flush().
class VarintAppender {
 public:
  explicit VarintAppender(std::string& out) : out_(out) {}
  ~VarintAppender() { assert(size_ == 0 || std::uncaught_exceptions() > 0); }
  VarintAppender(const VarintAppender&) = delete;
  VarintAppender& operator=(const VarintAppender&) = delete;

  void flush() { out_.append(buffer_, std::exchange(size_, 0)); }
  [[nodiscard]] std::size_t unflushed() const { return size_; }
  void varint(std::uint64_t value) {
    if (size_ > sizeof(buffer_) - kLongest) flush();
    size_ = static_cast<std::size_t>(write_varint(buffer_ + size_, value) - buffer_);
  }
  void bytes(std::string_view bytes) {
    if (bytes.size() <= sizeof(buffer_) - size_) {
      bytes.copy(buffer_ + size_, bytes.size());
      size_ += bytes.size();
    } else {
      flush();
      out_.append(bytes);
    }
  }

 private:
  static constexpr std::size_t kLongest = 10;

  std::string& out_;
  std::size_t size_ = 0;
  char buffer_[8 * kLongest];
};

inline void append_varint(std::string& out, std::uint64_t value) {
  VarintAppender appender(out);
  appender.varint(value);
  appender.flush();
}

/// Zigzag encoding: 0, -1, 1, -2, … become 0, 1, 2, 3, …
inline std::uint64_t fold(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unfold(std::uint64_t folded) {
  return static_cast<std::int64_t>((folded >> 1) ^ (~(folded & 1) + 1));
}

}  // namespace rushgate
