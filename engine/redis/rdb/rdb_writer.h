// Writes the parts of a payload of DUMP (rdb_format.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rushgate/stream_id.h>

namespace rushgate::rdb {

/// Appends to a string. Strings are not compressed.
class RdbWriter {
 public:
  explicit RdbWriter(std::string& out) : out_(out) {}

  RdbWriter& byte(std::uint8_t value);
  RdbWriter& length(std::uint64_t value);
  RdbWriter& string(std::string_view bytes);
  RdbWriter& real(double value);
  RdbWriter& time_ms(std::int64_t value);
  RdbWriter& id(StreamId value);
  RdbWriter& id_pair(StreamId value);

 private:
  void big_endian(std::uint64_t value, unsigned bytes);
  bool integer(std::string_view decimal);

  std::string& out_;
};

}  // namespace rushgate::rdb
