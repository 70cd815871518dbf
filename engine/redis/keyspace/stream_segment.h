// The encoding of a segment of a stream, the same in the store and in memory.
// docs/format.md describes it with an example.
//
//   segment = entry*            the id of the first entry is not part of it
//   entry   = head, seq, [columns], value*
//   head    = varint: (ms - ms of the entry before, below 2^62) << 1 | 1 if columns follow
//   seq     = varint: if ms is that of the entry before, the distance to its seq; else seq itself
//   columns = varint n, then n times: varint (length of name) << 1 | 1 if integers, name
//   value   = of an integer column: zigzag varint of the distance to the same column of the entry
//             before (to 0 after new columns)
//             of a string column: varint length, bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/heap.h"
#include <rushgate/maybe_integer.h>
#include <rushgate/stream_id.h>

namespace rushgate {

class VarintAppender;

using StreamField = std::pair<std::string_view, MaybeInteger>;  // name, value
using StreamFields = std::span<const StreamField>;

/// Writes one segment, entry after entry. A value type.
class SegmentWriter {
 public:
  /// A segment ends with the entry that exceeds this, so that finding an entry in a segment takes
  /// microseconds.
  static constexpr std::size_t kBytesMax = 8 * 1024;

  /// A savepoint.
  struct Savepoint {
    std::size_t bytes = 0;
    StreamId last;
  };

  /// Returns true if `id`, which must be above last(), fits. Otherwise the segment is full or too
  /// far away, and another one must follow.
  [[nodiscard]] bool takes(StreamId id) const;
  /// `id` must be above last() and fit; `fields` must not be empty.
  void append(StreamId id, StreamFields fields);
  /// Appends entries of integers, one per row of `values`, with the fields `names` and the ids from
  /// `id` on, until the segment is full. Returns their number. `id` must be
  /// above last() and fit.
  std::size_t append_rows(StreamId id, std::span<const std::string_view> names,
                          std::span<const std::int64_t> values);

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] StreamId first() const { return first_; }
  [[nodiscard]] StreamId last() const { return last_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  [[nodiscard]] Savepoint savepoint() const { return {bytes_.size(), last_}; }
  /// Undoes the appends since the savepoint. Does not throw.
  void roll_back_to(const Savepoint& savepoint);

  /// Continues an existing segment.
  void resume(StreamId first, StreamId last, std::string bytes);
  /// Returns the segment's bytes and leaves the writer empty.
  std::string take();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return heap_bytes(bytes_) + heap_bytes(columns_);
  }

 private:
  struct Column {
    std::size_t name_begin;  // in bytes_
    std::size_t name_size;
    bool is_integer;
    std::int64_t last;  // integer: the value in the last entry
  };

  [[nodiscard]] std::string_view name_of(const Column& column) const {
    return {bytes_.data() + column.name_begin, column.name_size};
  }
  [[nodiscard]] bool fits_columns(StreamFields fields) const;
  void begin_entry(StreamId id, bool has_same_columns, VarintAppender& out);
  [[nodiscard]] bool fits_integers(std::span<const std::string_view> names) const;
  void begin_columns(std::size_t count, VarintAppender& out);
  void write_column(std::string_view name, bool is_integer, VarintAppender& out);

  std::string bytes_;
  StreamId first_;
  StreamId last_;
  std::vector<Column>
      columns_;  // state after the last entry; empty if unknown: the next entry writes columns
};

struct DecodedColumn {
  std::uint32_t name_begin;  // in the segment's bytes
  std::uint32_t name_size;
  bool is_integer;
};

/// A view of an entry of a DecodedSegment. Valid until that or the segment's bytes change.
class StreamEntry {
 public:
  [[nodiscard]] StreamId id() const { return id_; }
  /// Returns the number of fields.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view name(std::size_t field) const;
  [[nodiscard]] std::string value(std::size_t field) const;

  /// Returns true if the value is kept as an integer. A string may show one, too.
  [[nodiscard]] bool is_integer(std::size_t field) const { return columns_[field].is_integer; }
  [[nodiscard]] std::int64_t integer(std::size_t field) const {
    return static_cast<std::int64_t>(cells_[field]);
  }
  /// Returns the value that is kept as a string.
  [[nodiscard]] std::string_view text(std::size_t field) const;

 private:
  friend class DecodedSegment;

  StreamId id_;
  std::size_t size_ = 0;
  const DecodedColumn* columns_ = nullptr;
  const std::uint64_t* cells_ = nullptr;
  const char* bytes_ = nullptr;
};

/// A decoded segment: finds entries by index or id. Holds positions in the segment's bytes, not the
/// bytes.
class DecodedSegment {
 public:
  /// Decodes a segment. If the last one was its beginning (an open segment that grew), decodes only
  /// the rest. Returns false, and holds nothing, if the bytes are invalid.
  bool read(StreamId first, std::string_view bytes);
  void clear();

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] StreamId id(std::size_t position) const { return entries_[position].id; }
  [[nodiscard]] StreamId last() const { return entries_.back().id; }
  /// `bytes` as given to read().
  [[nodiscard]] StreamEntry entry(std::size_t position, std::string_view bytes) const;
  /// Returns the index of the first entry not below `id`; size() if there is none.
  [[nodiscard]] std::size_t lower_bound(StreamId id) const;

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Entry {
    StreamId id;
    std::uint32_t columns;  // their first index in columns_
    std::uint32_t size;
    std::uint32_t cells;  // their first index in cells_
  };
  class Reader;
  bool read_entry(Reader& reader);
  bool read_columns(Reader& reader, Entry& entry);
  bool read_cells(Reader& reader, const Entry& entry, const Entry* before);

  std::vector<Entry> entries_;
  std::vector<DecodedColumn> columns_;
  std::vector<std::uint64_t> cells_;  // an integer's bits; or a string's offset << 32, and its size
  std::size_t bytes_read_ = 0;
};

}  // namespace rushgate
