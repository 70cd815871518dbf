// The records of the keyspace in a store. docs/format.md defines their layout, with an
// example.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/stream_id.h>

namespace rushgate {

struct Object;
class StoreBatch;

/// The first byte of a state record's key. Durable: values must not change. Headers sort first, so
/// loading creates objects before their elements.
enum class RecordKind : std::uint8_t {
  kHeader = 0x01,   // db, key                    -> type, expiry, and a string's value or a
                    // collection's id and counters
  kElement = 0x02,  // object id, member or field -> nothing, or the field's position and value, or
                    // the member's score, or that the member was removed
                    // object id, position        -> an element of a list
  kStreamDeleted =
      0x03,  // object id, entry id        -> nothing: the entry is deleted, its segment still has it
  kStreamGroup = 0x04,     // object id, group           -> last delivered id, entries read
  kStreamConsumer = 0x05,  // object id, group, consumer -> times
  kStreamPending = 0x06,   // object id, group, entry id -> consumer, delivery time, delivery count
  kSetSegment = 0x07,      // object id, member          -> members added with it (set_records.h)
  kStreamGap = 0x08,       // object id, entry id        -> last entry id, count: all of these are
                           // deleted, and in no segment
  kLibrary = 0x09,         // name of a function library -> its source
  kFieldExpiry = 0x0a,     // object id, field -> the expiry of a hash's field
};

/// The kinds of records that belong to an object, besides its header.
inline constexpr std::array kElementKinds = {
    RecordKind::kElement,        RecordKind::kStreamDeleted, RecordKind::kStreamGroup,
    RecordKind::kStreamConsumer, RecordKind::kStreamPending, RecordKind::kSetSegment,
    RecordKind::kStreamGap,      RecordKind::kFieldExpiry};

/// In the header of a hash: the values of its fields' records begin with positions.
inline constexpr std::uint8_t kFieldsHavePositions = 1;

/// Numbers of records by kind.
class RecordCounts {
 public:
  std::size_t& operator[](RecordKind kind) { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<std::size_t, 11> counts_{};  // by kind
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
  RecordWriter& varint_id(StreamId value);          // two varints
  RecordWriter& text(std::string_view bytes);       // varint length, bytes
  RecordWriter& rest(std::string_view bytes);       // bytes, to the end of the record
  RecordWriter& maybe_integer(
      std::string_view bytes);  // to the end: 'i' and a signed varint if they are
                                // a number, else 's' and the bytes

 private:
  std::string& out_;
};

/// Reads the output of RecordWriter. Latches the first error; after it everything reads as 0 or
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
  StreamId varint_id();
  std::string_view bytes(std::uint64_t count);
  std::string_view text();
  std::string_view rest();
  std::string maybe_integer();
  /// Reads a string or integer in a key. Each has exactly one form by which its record is found;
  /// any other is damage.
  std::string name();
  /// Reads an integer. Returns empty, and reads nothing, if it is a string.
  std::optional<std::int64_t> try_integer();

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

 private:
  std::string_view take(std::size_t bytes);

  std::string_view in_;
  bool ok_ = true;
};

/// Appends the key of an object's header.
void write_header_key(std::uint8_t db, std::string_view key, std::string& out);
/// Returns the prefix of the header keys of one database.
std::string header_prefix(std::uint8_t db);
/// Appends the value of the header.
void write_header_value(const Object& object, std::string& out);
/// Returns the key of a function library's record.
std::string library_key(std::string_view name);
/// Returns the prefix of the keys of an object's element records.
std::string element_prefix(RecordKind kind, std::uint64_t object_id);
/// Return the key of an element's record: of a string or integer, and of a list element.
std::string element_key(RecordKind kind, std::uint64_t object_id, std::string_view element);
std::string position_key(std::uint64_t object_id, std::uint64_t position);

/// Add or replace, and remove, the record of one element.
void put_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element,
                 std::string_view value);
void put_field(StoreBatch& batch, std::uint64_t object_id, std::string_view field,
               std::uint32_t position, std::string_view value);
void put_field_expiry(StoreBatch& batch, std::uint64_t object_id, std::string_view field,
                      std::int64_t expire_at_ms);
void remove_field_expiry(StoreBatch& batch, std::uint64_t object_id, std::string_view field);
void put_score(StoreBatch& batch, std::uint64_t object_id, std::string_view member, double score);
void remove_element(StoreBatch& batch, std::uint64_t object_id, std::string_view element);
/// Removes every record whose key begins with `prefix`, of which a byte is below 0xff.
void remove_prefix(StoreBatch& batch, std::string_view prefix);
/// Removes the records of one kind of the objects with ids from `first_id` to `last_id`.
void remove_range(StoreBatch& batch, RecordKind kind, std::uint64_t first_id,
                  std::uint64_t last_id);

}  // namespace rushgate
