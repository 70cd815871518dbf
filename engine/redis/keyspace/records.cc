#include "engine/redis/keyspace/records.h"

#include <bit>
#include <cmath>

#include "engine/core/base/numbers.h"
#include "engine/core/base/varint.h"
#include "engine/redis/keyspace/object.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

constexpr char kIntegerTag = 'i';
constexpr char kTextTag = 's';
constexpr char kDoubleTag = 'd';

/// Returns the score as an integer, if a double represents it exactly. -0 is not an integer.
std::optional<std::int64_t> whole_number(double value) {
  constexpr double kLimit = 9'007'199'254'740'992;  // 2^53
  if (!(value > -kLimit && value < kLimit) || value != std::trunc(value)) return std::nullopt;
  if (value == 0 && std::signbit(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

// ---- Writing ----

RecordWriter& RecordWriter::byte(std::uint8_t value) {
  out_.push_back(static_cast<char>(value));
  return *this;
}

RecordWriter& RecordWriter::fixed64(std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(value >> shift));
  return *this;
}

RecordWriter& RecordWriter::varint(std::uint64_t value) {
  append_varint(out_, value);
  return *this;
}

RecordWriter& RecordWriter::signed_varint(std::int64_t value) { return varint(fold(value)); }

RecordWriter& RecordWriter::real(double value) {
  if (const auto integer = whole_number(value)) {
    return byte(static_cast<std::uint8_t>(kIntegerTag)).signed_varint(*integer);
  }
  return byte(static_cast<std::uint8_t>(kDoubleTag)).fixed64(std::bit_cast<std::uint64_t>(value));
}

RecordWriter& RecordWriter::id(StreamId value) { return fixed64(value.ms).fixed64(value.seq); }

RecordWriter& RecordWriter::varint_id(StreamId value) { return varint(value.ms).varint(value.seq); }

RecordWriter& RecordWriter::text(std::string_view bytes) {
  return varint(bytes.size()).rest(bytes);
}

RecordWriter& RecordWriter::rest(std::string_view bytes) {
  out_.append(bytes);
  return *this;
}

RecordWriter& RecordWriter::maybe_integer(std::string_view bytes) {
  if (const auto integer = parse_int64(bytes)) {
    out_.push_back(kIntegerTag);
    return signed_varint(*integer);
  }
  out_.push_back(kTextTag);
  return rest(bytes);
}

// ---- Reading ----

std::string_view RecordReader::take(std::size_t bytes) {
  if (!ok_ || bytes > in_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = in_.substr(0, bytes);
  in_.remove_prefix(bytes);
  return taken;
}

std::uint8_t RecordReader::byte() {
  const std::string_view taken = take(1);
  return taken.empty() ? 0 : static_cast<std::uint8_t>(taken[0]);
}

std::uint64_t RecordReader::fixed64() {
  std::uint64_t value = 0;
  for (const char c : take(8)) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

std::uint64_t RecordReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t part = byte();
    if (shift == 63 && part > 1) break;
    value |= std::uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80U) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::int64_t RecordReader::signed_varint() { return unfold(varint()); }

double RecordReader::real() {
  const auto tag = static_cast<char>(byte());
  if (tag == kIntegerTag) return static_cast<double>(signed_varint());
  if (tag == kDoubleTag) return std::bit_cast<double>(fixed64());
  ok_ = false;
  return 0;
}

StreamId RecordReader::id() {
  const std::uint64_t ms = fixed64();
  const std::uint64_t seq = fixed64();
  return {ms, seq};
}

StreamId RecordReader::varint_id() {
  const std::uint64_t ms = varint();
  const std::uint64_t seq = varint();
  return {ms, seq};
}

std::string_view RecordReader::bytes(std::uint64_t count) {
  if (count > in_.size()) ok_ = false;
  return take(ok_ ? count : 0);
}

std::string_view RecordReader::text() { return bytes(varint()); }

std::string_view RecordReader::rest() { return take(in_.size()); }

std::string RecordReader::maybe_integer() {
  if (const auto integer = try_integer()) return std::string(DecimalText(*integer).view());
  if (static_cast<char>(byte()) == kTextTag) return std::string(rest());
  ok_ = false;
  return {};
}

std::string RecordReader::name() {
  const bool is_text = !in_.empty() && in_.front() == kTextTag;
  std::string name = maybe_integer();
  if (is_text && parse_int64(name)) ok_ = false;
  return name;
}

std::optional<std::int64_t> RecordReader::try_integer() {
  if (!ok_ || in_.empty() || in_.front() != kIntegerTag) return std::nullopt;
  byte();
  const bool is_longer_than_need_be = in_.size() > 1 && in_.back() == '\0';
  const std::int64_t integer = signed_varint();
  if (!at_end() || is_longer_than_need_be) ok_ = false;
  return integer;
}

// ---- The records of the keyspace ----

void write_header_key(std::uint8_t db, std::string_view key, std::string& out) {
  RecordWriter(out).byte(static_cast<std::uint8_t>(RecordKind::kHeader)).byte(db).rest(key);
}

std::string header_prefix(std::uint8_t db) {
  std::string prefix;
  write_header_key(db, {}, prefix);
  return prefix;
}

void write_header_value(const Object& object, std::string& out) {
  RecordWriter writer(out);
  writer.byte(static_cast<std::uint8_t>(object.type())).signed_varint(object.expire_at_ms());
  if (object.type() == ValueType::kString) {
    const StringValue& string = object.string();
    if (const auto integer = string.integer()) {
      writer.byte(static_cast<std::uint8_t>(kIntegerTag)).signed_varint(*integer);
    } else {
      writer.byte(static_cast<std::uint8_t>(kTextTag)).rest(string.text());
    }
    return;
  }
  writer.varint(object.id);
  if (object.type() == ValueType::kHash && object.hash().has_positions()) {
    writer.byte(kFieldsHavePositions);
  }
  if (object.type() == ValueType::kSet && object.set().records().is_being_rewritten()) {
    writer.varint(object.set().records().old_id());
  }
  if (object.type() == ValueType::kStream) object.stream().write_header(writer);
}

std::string library_key(std::string_view name) {
  std::string key;
  RecordWriter(key).byte(static_cast<std::uint8_t>(RecordKind::kLibrary)).rest(name);
  return key;
}

std::string element_prefix(RecordKind kind, std::uint64_t object_id) {
  std::string prefix;
  RecordWriter(prefix).byte(static_cast<std::uint8_t>(kind)).fixed64(object_id);
  return prefix;
}

namespace {

void write_element_key(RecordKind kind, std::uint64_t object_id, std::string_view element,
                       std::string& out) {
  RecordWriter(out).byte(static_cast<std::uint8_t>(kind)).fixed64(object_id).maybe_integer(element);
}

}  // namespace

std::string element_key(RecordKind kind, std::uint64_t object_id, std::string_view element) {
  std::string key;
  write_element_key(kind, object_id, element, key);
  return key;
}

std::string position_key(std::uint64_t object_id, std::uint64_t position) {
  std::string key = element_prefix(RecordKind::kElement, object_id);
  RecordWriter(key).fixed64(position);
  return key;
}

void put_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element,
                 std::string_view value) {
  batch.put_written(
      [=](std::string& out) { write_element_key(RecordKind::kElement, object_id, element, out); },
      [=](std::string& out) { out.append(value); });
}

void put_field(StoreBatch& batch, std::uint64_t object_id, std::string_view field,
               std::uint32_t position, std::string_view value) {
  batch.put_written(
      [=](std::string& out) { write_element_key(RecordKind::kElement, object_id, field, out); },
      [=](std::string& out) { RecordWriter(out).varint(position).rest(value); });
}

void put_field_expiry(StoreBatch& batch, std::uint64_t object_id, std::string_view field,
                      std::int64_t expire_at_ms) {
  batch.put_written(
      [=](std::string& out) { write_element_key(RecordKind::kFieldExpiry, object_id, field, out); },
      [=](std::string& out) { RecordWriter(out).signed_varint(expire_at_ms); });
}

void remove_field_expiry(StoreBatch& batch, std::uint64_t object_id, std::string_view field) {
  batch.remove_written([=](std::string& out) {
    write_element_key(RecordKind::kFieldExpiry, object_id, field, out);
  });
}

void put_score(StoreBatch& batch, std::uint64_t object_id, std::string_view member, double score) {
  batch.put_written(
      [=](std::string& out) { write_element_key(RecordKind::kElement, object_id, member, out); },
      [=](std::string& out) { RecordWriter(out).real(score); });
}

void remove_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element) {
  batch.remove_written(
      [=](std::string& out) { write_element_key(RecordKind::kElement, object_id, element, out); });
}

namespace {

/// Returns the least key above all keys with this prefix.
std::string end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (end.back() == '\xff') end.pop_back();
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

}  // namespace

void remove_prefix(StoreBatch& batch, std::string_view prefix) {
  batch.remove_range(prefix, end_of_prefix(prefix));
}

void remove_range(StoreBatch& batch, RecordKind kind, std::uint64_t first_id,
                  std::uint64_t last_id) {
  batch.remove_range(element_prefix(kind, first_id), end_of_prefix(element_prefix(kind, last_id)));
}

}  // namespace rushgate
