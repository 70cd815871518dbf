// The records by which the keyspace is kept in a store. Their layout is described, with an example,
// in docs/format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/stream_id.h"
#include "engine/keyspace/object.h"

namespace rushgate {

class StoreBatch;

/// First byte of a state record's key. Durable: never renumber. Headers sort first, so that loading
/// meets an object before its elements.
enum class RecordKind : std::uint8_t {
  kHeader = 0x01,   // db, key                    -> type, expiry, and a string's value or a
                    // collection's id and counters
  kElement = 0x02,  // object id, member or field -> nothing, or the field's value, or the member's
                    // score, or that the member was removed
                    // object id, position        -> an element of a list
  kStreamDeleted =
      0x03,  // object id, entry id        -> nothing: the entry is deleted, its run still holds it
  kStreamGroup = 0x04,     // object id, group           -> last delivered id, entries read
  kStreamConsumer = 0x05,  // object id, group, consumer -> times
  kStreamPending = 0x06,   // object id, group, entry id -> consumer, delivery time, delivery count
  kSetRun = 0x07,          // object id, member          -> members added with it (set_records.h)
  kStreamGap = 0x08,       // object id, entry id        -> last entry id, count: all of these are
                           // deleted, and no run holds them
};

/// Of the records that a header's object has beside it.
inline constexpr std::array kElementKinds = {
    RecordKind::kElement,        RecordKind::kStreamDeleted, RecordKind::kStreamGroup,
    RecordKind::kStreamConsumer, RecordKind::kStreamPending, RecordKind::kSetRun,
    RecordKind::kStreamGap};

/// How many records there are of each kind.
class RecordCounts {
 public:
  std::size_t& operator[](RecordKind kind) { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<std::size_t, 9> counts_{};  // by kind
};

/// Appends the parts of records to a string: fixed-width big-endian where order matters, varints
/// elsewhere.
class RecordWriter {
 public:
  explicit RecordWriter(std::string& out) : out_(out) {}

  RecordWriter& byte(std::uint8_t value);
  RecordWriter& fixed64(std::uint64_t value);       // big-endian
  RecordWriter& varint(std::uint64_t value);        // LEB128
  RecordWriter& signed_varint(std::int64_t value);  // zigzag, then LEB128
  RecordWriter& real(double value);                 // 'i' and a signed varint if it is a whole
                                                    // number below 2^53, else 'd' and 8 bytes
  RecordWriter& id(StreamId value);                 // 16 bytes, big-endian
  RecordWriter& text(std::string_view bytes);       // varint length, bytes
  RecordWriter& rest(std::string_view bytes);       // bytes, to the end of the record
  RecordWriter& scalar(std::string_view bytes);  // to the end: 'i' and a signed varint if they are
                                                 // a number, else 's' and the bytes

 private:
  std::string& out_;
};

/// Reads what RecordWriter wrote; latches the first error, after which everything reads as zero or
/// empty.
class RecordReader {
 public:
  explicit RecordReader(std::string_view in) : in_(in) {}

  std::uint8_t byte();
  std::uint64_t fixed64();
  std::uint64_t varint();
  std::int64_t signed_varint();
  double real();
  StreamId id();
  std::string_view bytes(std::uint64_t count);
  std::string_view text();
  std::string_view rest();
  std::string scalar();
  /// A scalar in a key. It has one form, in which alone its record would be found again: any other
  /// is damage.
  std::string name();
  /// A scalar that is a number. Nothing if it is a text, of which nothing is read then.
  std::optional<std::int64_t> integer_scalar();

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

 private:
  std::string_view take(std::size_t bytes);

  std::string_view in_;
  bool ok_ = true;
};

/// The key of an object's header.
void write_header_key(std::uint8_t db, std::string_view key, std::string& out);
/// What the keys of the headers of one database begin with.
std::string header_prefix(std::uint8_t db);
/// The header itself.
void write_header_value(const Object& object, std::string& out);
/// What every element's record of an object begins with.
std::string element_prefix(RecordKind kind, std::uint64_t object_id);
/// The key of an element that is a scalar, and that of a list's.
std::string element_key(RecordKind kind, std::uint64_t object_id, std::string_view element);
std::string position_key(std::uint64_t object_id, std::uint64_t position);

/// Adds or replaces, removes, one element's record.
void put_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element,
                 std::string_view value);
void put_score(StoreBatch& batch, std::uint64_t object_id, std::string_view member, double score);
void remove_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element);
/// Removes every record whose key begins with `prefix`, in which a byte is below 0xff.
void remove_prefix(StoreBatch& batch, std::string_view prefix);
/// Removes the records of one kind of the objects whose ids are from `first_id` to `last_id`.
void remove_range(StoreBatch& batch, RecordKind kind, std::uint64_t first_id,
                  std::uint64_t last_id);

}  // namespace rushgate
