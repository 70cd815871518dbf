// A listpack: Redis's encoding of a short sequence of strings and integers.
//
//   listpack  = total bytes (4), number of elements (2; 65535: unknown), element*, 11111111
//   element   = head, bytes, size of both
//   head      = 0nnnnnnn                    an integer from 0 to 127
//               10nnnnnn                    a string of n bytes
//               110nnnnn, n                 a signed integer of 13 bits, big-endian
//               1110nnnn, n                 a string of n bytes: 12 bits, big-endian
//               11110000, 4 bytes           a string of n bytes
//               11110001, …2, …3, …4        a signed integer of 2, 3, 4, 8 bytes
//   size      = seven bits a byte, lowest last; all bytes but the first have the high bit
//
// Other numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/redis/rdb/byte_cursor.h"

namespace rushgate::rdb {

/// An element; a string is a view of the listpack's bytes.
using ListpackElement = std::variant<std::int64_t, std::string_view>;

/// Returns the element as a string: that of an integer is its decimal form.
std::string text_of(const ListpackElement& element);

/// Reads a listpack element by element and checks all of it. Latches the first error; after it
/// every element reads as 0. Valid as long as the bytes.
class ListpackReader {
 public:
  explicit ListpackReader(std::string_view bytes);

  /// Returns the next element.
  ListpackElement next();
  /// Returns the next element, which must be an integer.
  std::int64_t next_integer();
  std::string next_text() { return text_of(next()); }

  [[nodiscard]] bool at_end() const { return elements_.empty(); }
  /// Returns false after an error. At the end, the whole listpack was valid then.
  [[nodiscard]] bool ok() const { return elements_.ok(); }

 private:
  ListpackElement fail();
  ListpackElement read_element();
  void check_count();

  ByteCursor elements_;
  std::size_t announced_ = 0;
  std::size_t count_ = 0;
};

/// Returns the elements of a listpack; empty if it is invalid.
std::optional<std::vector<std::string>> read_listpack(std::string_view bytes);

/// Writes a listpack.
class ListpackWriter {
 public:
  /// Redis takes no larger one.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 30;

  /// Appends a string, as an integer if it shows one.
  void append(std::string_view text);
  void append(std::int64_t integer);
  /// Appends all elements of another one.
  void append(const ListpackWriter& more);

  [[nodiscard]] std::size_t size_bytes() const;
  /// Returns the bytes, which must be fewer than 4 GiB.
  [[nodiscard]] std::string bytes() const;

 private:
  void end_element(std::size_t begin);

  std::string elements_;
  std::size_t count_ = 0;
};

}  // namespace rushgate::rdb
