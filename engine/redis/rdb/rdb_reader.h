// Reads the parts of a payload of DUMP (rdb_format.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/redis/rdb/byte_cursor.h"
#include <rushgate/stream_id.h>

namespace rushgate::rdb {

/// Latches the first error; after it everything reads as 0 or empty. Valid as long as the payload.
/// A count in the payload may be any number, so loops over it check ok(): each part that is read
/// takes at least a byte.
class RdbReader {
 public:
  /// The maximum size of all strings together that were compressed. A kilobyte can hold a string of
  /// 88 kilobytes.
  static constexpr std::size_t kDecompressedBytesMax = std::size_t{512} * 1024 * 1024;

  explicit RdbReader(std::string_view in,
                     std::size_t decompressed_bytes_max = kDecompressedBytesMax)
      : in_(in), decompressed_bytes_max_(decompressed_bytes_max) {}

  std::uint8_t byte();
  std::uint64_t length();
  std::string string();
  double real();
  /// Reads a score of the oldest format: its decimal form after a byte with the length.
  double decimal_real();
  std::int64_t time_ms();
  StreamId id();
  StreamId id_pair();

  [[nodiscard]] bool ok() const { return in_.ok(); }
  /// Returns the number of unread bytes; 0 after an error.
  [[nodiscard]] std::size_t left() const { return in_.left(); }
  /// Latches an error of the caller.
  void fail() { in_.fail(); }

 private:
  std::uint64_t rest_of_length(unsigned head);
  std::string encoded_string(unsigned head);
  std::string compressed_string();

  ByteCursor in_;
  std::size_t decompressed_bytes_max_;
  std::size_t decompressed_bytes_ = 0;
};

}  // namespace rushgate::rdb
