#include "engine/redis/rdb/rdb_writer.h"

#include <bit>
#include <cstddef>
#include <limits>

#include "engine/redis/rdb/little_endian.h"
#include "engine/redis/rdb/rdb_format.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::rdb {
namespace {

constexpr unsigned kBitsPerByte = 8;

unsigned head_of(StringForm form) {
  return kLengthEncoded << kLengthFormShift | static_cast<unsigned>(form);
}

}  // namespace

void RdbWriter::big_endian(std::uint64_t value, unsigned bytes) {
  while (bytes-- > 0) out_.push_back(static_cast<char>(value >> kBitsPerByte * bytes));
}

RdbWriter& RdbWriter::byte(std::uint8_t value) {
  out_.push_back(static_cast<char>(value));
  return *this;
}

RdbWriter& RdbWriter::length(std::uint64_t value) {
  constexpr std::uint64_t k6Bits = 1U << 6;
  constexpr std::uint64_t k14Bits = 1U << 14;
  if (value < k6Bits) {
    big_endian(value, 1);
  } else if (value < k14Bits) {
    big_endian(k14Bits * kLength14 | value, 2);
  } else if (value <= std::numeric_limits<std::uint32_t>::max()) {
    big_endian(kLength32, 1);
    big_endian(value, sizeof(std::uint32_t));
  } else {
    big_endian(kLength64, 1);
    big_endian(value, sizeof(std::uint64_t));
  }
  return *this;
}

RdbWriter& RdbWriter::string(std::string_view bytes) {
  if (integer(bytes)) return *this;
  length(bytes.size());
  out_.append(bytes);
  return *this;
}

/// Appends a string that shows an integer of up to 32 bits. Returns false if it does not.
bool RdbWriter::integer(std::string_view decimal) {
  constexpr std::size_t kLongest = 11;  // "-2147483648"
  if (decimal.size() > kLongest) return false;
  const auto value = parse_int64(decimal);
  if (!value) return false;
  const auto append = [&]<class Integer>(StringForm form, Integer) {
    using Limits = std::numeric_limits<Integer>;
    if (*value < Limits::min() || *value > Limits::max()) return false;
    big_endian(head_of(form), 1);
    append_little_endian(out_, static_cast<Integer>(*value));
    return true;
  };
  return append(StringForm::kInteger8, std::int8_t{}) ||
         append(StringForm::kInteger16, std::int16_t{}) ||
         append(StringForm::kInteger32, std::int32_t{});
}

RdbWriter& RdbWriter::real(double value) {
  append_little_endian(out_, std::bit_cast<std::uint64_t>(value));
  return *this;
}

RdbWriter& RdbWriter::time_ms(std::int64_t value) {
  append_little_endian(out_, value);
  return *this;
}

RdbWriter& RdbWriter::id(StreamId value) {
  big_endian(value.ms, sizeof(value.ms));
  big_endian(value.seq, sizeof(value.seq));
  return *this;
}

RdbWriter& RdbWriter::id_pair(StreamId value) { return length(value.ms).length(value.seq); }

}  // namespace rushgate::rdb
