// The payload of FUNCTION DUMP and RESTORE, which a redis-server reads and writes, too.
//
//   payload = { f5 | source: string } | version: 2 bytes, little-endian | checksum: 8 bytes,
//             little-endian, CRC-64 (Jones) of everything before it
//   string  = length | bytes; or c3 | compressed length | length | bytes compressed by LZF
//   length  = 00xxxxxx | 01xxxxxx x (14 bits) | 80 and 32 bits | 81 and 64 bits; big-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/reply.h>

namespace rushgate {

/// Returns the checksum of `bytes`.
std::uint64_t payload_checksum(std::string_view bytes);

/// Decompresses a string of the length `size`. Returns empty if it is damaged.
std::optional<std::string> decompress_lzf(std::string_view compressed, std::size_t size);

/// Builds a payload. Strings are not compressed.
class LibraryPayloadWriter {
 public:
  void add(std::string_view code);
  /// Completes the payload. Called once.
  std::string finish();

 private:
  std::string bytes_;
};

class LibraryPayloadReader {
 public:
  /// A source larger than `bytes_max` counts as damaged.
  LibraryPayloadReader(std::string_view payload, std::size_t bytes_max)
      : payload_(payload), bytes_max_(bytes_max) {}

  /// Returns true if version and checksum are right. Must be checked first.
  [[nodiscard]] bool is_intact() const;
  [[nodiscard]] bool at_end() const;
  /// Reads the source of the next library. Returns empty and sets `error` if it is damaged.
  std::optional<std::string> next(Reply& error);

 private:
  struct Length {
    std::uint64_t value;
    bool is_encoding;  // of a string that is stored in another form
  };

  std::optional<std::string_view> take(std::uint64_t count);
  std::optional<std::uint64_t> take_big_endian(std::size_t bytes);
  std::optional<Length> take_length();
  std::optional<std::string> take_string();
  std::optional<std::string> take_encoded(std::uint64_t encoding);

  const std::string_view payload_;
  const std::size_t bytes_max_;
  std::size_t at_ = 0;
};

}  // namespace rushgate
