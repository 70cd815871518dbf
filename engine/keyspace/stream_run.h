// How a stretch of a stream's entries is written: the same bytes in the store and in memory.
// Described, with an example, in docs/format.md.
//
//   run     = entry*            the id of the first entry stands beside the run, not in it
//   entry   = head, seq, [columns], value*
//   head    = varint: (ms - ms of the entry before, below 2^62) << 1 | 1 if columns follow
//   seq     = varint: if ms is that of the entry before, the distance to its seq; else seq itself
//   columns = varint n, then n times: varint (length of name) << 1 | 1 if integers, name
//   value   = of an integer column: zigzag varint of the distance to the same column of the entry
//             before (to 0 after new columns)
//             of a text column: varint length, bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/heap.h"
#include "engine/base/scalar.h"
#include "engine/base/stream_id.h"

namespace rushgate {

class VarintAppender;

using StreamField = std::pair<std::string_view, Scalar>;  // name, value
using StreamFields = std::span<const StreamField>;

/// Writes one run, entry after entry. A value type.
class RunWriter {
 public:
  /// A run ends with the entry that passes this: finding an entry in one stays a matter of
  /// microseconds.
  static constexpr std::size_t kBytesMax = 8 * 1024;

  /// A point to go back to.
  struct Mark {
    std::size_t bytes = 0;
    StreamId last;
  };

  /// Is there room for `id`, which must be above last()? A run that is full, or too far away, is to
  /// be followed by another.
  [[nodiscard]] bool takes(StreamId id) const;
  /// `id` must be above last() and taken, `fields` not be empty.
  void append(StreamId id, StreamFields fields);
  /// Entries of integers, one a row of `values`, all under `names`: the first as `id`, each other
  /// one with the next seq, until the run is full. How many. `id` must be above last() and taken.
  std::size_t append_rows(StreamId id, std::span<const std::string_view> names,
                          std::span<const std::int64_t> values);

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] StreamId first() const { return first_; }
  [[nodiscard]] StreamId last() const { return last_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  [[nodiscard]] Mark mark() const { return {bytes_.size(), last_}; }
  /// Forgets what was appended since. Throws nothing.
  void roll_back_to(const Mark& mark);

  /// Continues a run that was written before.
  void resume(StreamId first, StreamId last, std::string bytes);
  /// The run's bytes; the writer is empty then.
  std::string take();

  /// Bytes held beside itself.
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
  void write_column(std::string_view name, bool is_integer, VarintAppender& out);

  std::string bytes_;
  StreamId first_;
  StreamId last_;
  std::vector<Column>
      columns_;  // as the last entry left them; empty if not known: the next one writes its own
};

struct DecodedColumn {
  std::uint32_t name_begin;  // in the run's bytes
  std::uint32_t name_size;
  bool is_integer;
};

/// A view of one entry of a DecodedRun; valid until that changes, or the run's bytes do.
class StreamEntry {
 public:
  [[nodiscard]] StreamId id() const { return id_; }
  /// The number of fields.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view name(std::size_t field) const;
  [[nodiscard]] std::string value(std::size_t field) const;

 private:
  friend class DecodedRun;

  StreamId id_;
  std::size_t size_ = 0;
  const DecodedColumn* columns_ = nullptr;
  const std::uint64_t* cells_ = nullptr;
  const char* bytes_ = nullptr;
};

/// A run, read: its entries in order, found by position or id. Holds positions in the run's bytes,
/// not the bytes.
class DecodedRun {
 public:
  /// Reads the run. If that which was read last is its beginning (an open run that has grown), only
  /// what is new. False if it makes no sense: nothing is held then.
  bool read(StreamId first, std::string_view bytes);
  void clear();

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] StreamId id(std::size_t position) const { return entries_[position].id; }
  [[nodiscard]] StreamId last() const { return entries_.back().id; }
  /// `bytes` as given to read().
  [[nodiscard]] StreamEntry entry(std::size_t position, std::string_view bytes) const;
  /// The position of the first entry that is not below `id`; size() if there is none.
  [[nodiscard]] std::size_t lower_bound(StreamId id) const;

  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Entry {
    StreamId id;
    std::uint32_t columns;  // where they begin in columns_
    std::uint32_t size;
    std::uint32_t cells;  // where they begin in cells_
  };
  class Reader;
  bool read_entry(Reader& reader);
  bool read_columns(Reader& reader, Entry& entry);
  bool read_cells(Reader& reader, const Entry& entry, const Entry* before);

  std::vector<Entry> entries_;
  std::vector<DecodedColumn> columns_;
  std::vector<std::uint64_t>
      cells_;  // an integer's bits; or where a text begins, << 32, and its size
  std::size_t bytes_read_ = 0;
};

}  // namespace rushgate
