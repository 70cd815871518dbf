// The payload of FUNCTION DUMP and RESTORE, which a redis-server reads and writes, too:
//
//   payload = { f5 | source: string } | version and checksum
//
// Strings, version and checksum are those of DUMP (rdb_format.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/redis/rdb/rdb_reader.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Builds a payload.
class LibraryPayloadWriter {
 public:
  void add(std::string_view code);
  /// Completes the payload. Called once.
  std::string finish();

 private:
  std::string bytes_;
};

/// Valid as long as the payload.
class LibraryPayloadReader {
 public:
  /// A source larger than `bytes_max` counts as damaged.
  LibraryPayloadReader(std::string_view payload, std::size_t bytes_max)
      : payload_(payload), bytes_max_(bytes_max), reader_(payload, bytes_max) {}

  /// Returns true if version and checksum are right. Must be checked first.
  [[nodiscard]] bool is_intact() const;
  [[nodiscard]] bool at_end() const;
  /// Reads the source of the next library. Returns empty and sets `error` if it is damaged. As in
  /// Redis, a damaged source may extend into version and checksum.
  std::optional<std::string> next(Reply& error);

 private:
  const std::string_view payload_;
  const std::size_t bytes_max_;
  rdb::RdbReader reader_;
};

}  // namespace rushgate
