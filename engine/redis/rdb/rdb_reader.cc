#include "engine/redis/rdb/rdb_reader.h"

#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/rdb/lzf.h"
#include "engine/redis/rdb/rdb_format.h"

namespace rushgate::rdb {

std::uint8_t RdbReader::byte() { return in_.byte(); }

double RdbReader::real() { return std::bit_cast<double>(in_.little_endian(sizeof(double))); }

std::int64_t RdbReader::time_ms() { return in_.signed_little_endian(sizeof(std::int64_t)); }

StreamId RdbReader::id() {
  const std::uint64_t ms = in_.big_endian(sizeof(ms));
  return {ms, in_.big_endian(sizeof(std::uint64_t))};
}

StreamId RdbReader::id_pair() {
  const std::uint64_t ms = length();
  return {ms, length()};
}

double RdbReader::decimal_real() {
  constexpr unsigned kNan = 253;
  constexpr unsigned kInfinity = 254;
  constexpr unsigned kMinusInfinity = 255;
  const unsigned size = byte();
  if (size == kInfinity) return std::numeric_limits<double>::infinity();
  if (size == kMinusInfinity) return -std::numeric_limits<double>::infinity();
  const std::optional<double> value = parse_double(in_.take(size == kNan ? 0 : size));
  if (!value) fail();
  return value.value_or(0);
}

// ---- Lengths and strings ----

std::uint64_t RdbReader::length() {
  const unsigned head = byte();
  if (head >> kLengthFormShift == kLengthEncoded) fail();
  return rest_of_length(head);
}

std::uint64_t RdbReader::rest_of_length(unsigned head) {
  const std::uint64_t bits = head & kShortLengthMask;
  if (head >> kLengthFormShift == kLength6) return bits;
  if (head >> kLengthFormShift == kLength14) return bits << 8 | byte();
  if (head == kLength32) return in_.big_endian(sizeof(std::uint32_t));
  if (head == kLength64) return in_.big_endian(sizeof(std::uint64_t));
  fail();
  return 0;
}

std::string RdbReader::string() {
  const unsigned head = byte();
  if (head >> kLengthFormShift == kLengthEncoded) return encoded_string(head & kShortLengthMask);
  return std::string(in_.take(rest_of_length(head)));
}

std::string RdbReader::encoded_string(unsigned head) {
  const auto decimal = [](std::int64_t value) { return std::string(DecimalText(value).view()); };
  switch (static_cast<StringForm>(head)) {
    case StringForm::kInteger8:
      return decimal(in_.signed_little_endian(sizeof(std::int8_t)));
    case StringForm::kInteger16:
      return decimal(in_.signed_little_endian(sizeof(std::int16_t)));
    case StringForm::kInteger32:
      return decimal(in_.signed_little_endian(sizeof(std::int32_t)));
    case StringForm::kLzf:
      return compressed_string();
  }
  fail();
  return {};
}

std::string RdbReader::compressed_string() {
  const std::uint64_t compressed_size = length();
  const std::uint64_t size = length();
  const std::string_view compressed = in_.take(compressed_size);
  if (size > decompressed_bytes_max_ - decompressed_bytes_) fail();
  std::optional<std::string> bytes;
  if (ok()) bytes = decompress_lzf(compressed, size);
  if (!bytes) {
    fail();
    return {};
  }
  decompressed_bytes_ += size;
  return *std::move(bytes);
}

}  // namespace rushgate::rdb
