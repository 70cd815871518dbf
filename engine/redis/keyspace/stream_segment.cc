#include "engine/redis/keyspace/stream_segment.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/core/base/bytes.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/varint.h"

namespace rushgate {
namespace {

constexpr std::uint64_t kMsDistanceMax = std::uint64_t{1} << 62;  // one bit of the head is taken

// Distances wrap around: every distance of two integers has 64 bits.
std::int64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to) -
                                   static_cast<std::uint64_t>(from));
}
std::int64_t advance(std::int64_t from, std::int64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) +
                                   static_cast<std::uint64_t>(by));
}

/// Positions in a segment have 32 bits.
void check_size(StreamFields fields) {
  constexpr std::size_t kLeft = std::size_t{1} << 20;  // for the data before it, and lengths
  constexpr std::size_t kFieldBytes = 10;
  std::size_t bytes = kLeft;
  for (const auto& [name, value] : fields) {
    bytes += name.size() + value.text().size() + kFieldBytes;
  }
  if (bytes > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a stream entry");
}

}  // namespace

// ---- Writing ----

bool SegmentWriter::takes(StreamId id) const {
  return empty() || (bytes_.size() < kBytesMax && id.ms - last_.ms < kMsDistanceMax);
}

void SegmentWriter::append(StreamId id, StreamFields fields) {
  assert(!fields.empty());
  check_size(fields);
  VarintAppender out(bytes_);
  const bool fits = fits_columns(fields);
  begin_entry(id, fits, out);
  if (!fits) {
    begin_columns(fields.size(), out);
    for (const auto& [name, value] : fields) write_column(name, value.is_integer(), out);
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Column& column = columns_[i];
    const MaybeInteger& value = fields[i].second;
    if (column.is_integer) {
      out.varint(fold(distance(column.last, value.integer())));
      column.last = value.integer();
    } else {
      out.varint(value.text().size());
      out.bytes(value.text());
    }
  }
  out.flush();
}

std::size_t SegmentWriter::append_rows(StreamId id, std::span<const std::string_view> names,
                                       std::span<const std::int64_t> values) {
  assert(!names.empty() && !values.empty());
  VarintAppender out(bytes_);
  const bool fits = fits_integers(names);
  begin_entry(id, fits, out);
  if (!fits) {
    begin_columns(names.size(), out);
    for (const std::string_view name : names) write_column(name, true, out);
  }
  std::size_t rows = 0;
  auto value = values.begin();
  while (true) {
    for (Column& column : columns_) {
      out.varint(fold(distance(column.last, *value)));
      column.last = *value++;
    }
    ++rows;
    if (value == values.end() || bytes_.size() + out.unflushed() >= kBytesMax) break;
    out.varint(0);  // the same ms, the same columns
    out.varint(1);  // the next seq
  }
  out.flush();
  last_ = {id.ms, id.seq + rows - 1};
  return rows;
}

/// New columns, or the same as the entry before, follow.
void SegmentWriter::begin_entry(StreamId id, bool has_same_columns, VarintAppender& out) {
  assert(takes(id) && (empty() || id > last_));
  if (empty()) first_ = last_ = id;
  out.varint((id.ms - last_.ms) << 1 | (has_same_columns ? 0 : 1));
  out.varint(id.ms == last_.ms ? id.seq - last_.seq : id.seq);
  last_ = id;
  if (!has_same_columns) columns_.clear();
}

/// A column of strings also holds integers, as strings.
bool SegmentWriter::fits_columns(StreamFields fields) const {
  if (columns_.size() != fields.size()) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, value] = fields[i];
    if (columns_[i].is_integer && !value.is_integer()) return false;
    if (!same_bytes(name, name_of(columns_[i]))) return false;
  }
  return true;
}

bool SegmentWriter::fits_integers(std::span<const std::string_view> names) const {
  return std::ranges::equal(columns_, names, [this](const Column& column, std::string_view name) {
    return column.is_integer && same_bytes(name, name_of(column));
  });
}

/// Reserves memory for columns of usual size, and for the values of one entry.
void SegmentWriter::begin_columns(std::size_t count, VarintAppender& out) {
  constexpr std::size_t kColumnBytes = 16;
  columns_.reserve(count);
  bytes_.reserve(bytes_.size() + out.unflushed() + kColumnBytes * (count + 1));
  out.varint(count);
}

void SegmentWriter::write_column(std::string_view name, bool is_integer, VarintAppender& out) {
  out.varint(std::uint64_t{name.size()} << 1 | (is_integer ? 1 : 0));
  out.bytes(name);
  const std::size_t end = bytes_.size() + out.unflushed();
  columns_.push_back({end - name.size(), name.size(), is_integer, 0});
}

void SegmentWriter::roll_back_to(const Savepoint& savepoint) {
  bytes_.resize(savepoint.bytes);
  last_ = savepoint.last;
  columns_.clear();
}

void SegmentWriter::resume(StreamId first, StreamId last, std::string bytes) {
  first_ = first;
  last_ = last;
  bytes_ = std::move(bytes);
  columns_.clear();
}

std::string SegmentWriter::take() {
  columns_.clear();
  return std::exchange(bytes_, {});
}

// ---- Reading ----

std::string_view StreamEntry::name(std::size_t field) const {
  return {bytes_ + columns_[field].name_begin, columns_[field].name_size};
}

std::string StreamEntry::value(std::size_t field) const {
  if (is_integer(field)) return std::string(DecimalText(integer(field)).view());
  return std::string(text(field));
}

std::string_view StreamEntry::text(std::size_t field) const {
  const std::uint64_t cell = cells_[field];
  return {bytes_ + (cell >> 32), cell & 0xffffffffU};
}

/// Latches the first error; after it everything reads as 0.
class DecodedSegment::Reader {
 public:
  Reader(std::string_view in, std::size_t position) : in_(in), position_(position) {}

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && position_ < in_.size(); shift += 7) {
      const auto part = static_cast<std::uint8_t>(in_[position_++]);
      if (shift == 63 && part > 1) break;
      value |= std::uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80U) == 0) return value;
    }
    fail();
    return 0;
  }

  /// Returns the position of the next `size` bytes.
  std::uint32_t skip(std::uint64_t size) {
    if (size > in_.size() - position_) {
      fail();
      return 0;
    }
    const auto begin = static_cast<std::uint32_t>(position_);
    position_ += size;
    return begin;
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t bytes_left() const { return in_.size() - position_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void fail() {
    ok_ = false;
    position_ = in_.size();
  }

  std::string_view in_;
  std::size_t position_;
  bool ok_ = true;
};

bool DecodedSegment::read(StreamId first, std::string_view bytes) {
  if (entries_.empty() || id(0) != first || bytes_read_ > bytes.size()) clear();
  if (bytes_read_ == bytes.size()) return !entries_.empty();
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  if (entries_.empty())
    entries_.push_back({first, 0, 0, 0});  // the origin of the first entry's distances

  Reader reader(bytes, bytes_read_);
  bool makes_sense = true;
  while (makes_sense && reader.bytes_left() > 0) makes_sense = read_entry(reader);
  if (!makes_sense) {
    clear();
    return false;
  }
  bytes_read_ = bytes.size();
  return true;
}

bool DecodedSegment::read_entry(Reader& reader) {
  const bool is_first = bytes_read_ == 0 && reader.position() == 0;
  Entry entry = entries_.back();
  const Entry before = entry;

  const std::uint64_t head = reader.varint();
  const std::uint64_t ms_distance = head >> 1;
  const std::uint64_t seq = reader.varint();
  entry.id.ms += ms_distance;
  entry.id.seq = ms_distance == 0 ? before.id.seq + seq : seq;
  if (is_first ? entry.id != before.id : entry.id <= before.id) return false;

  const bool has_columns = (head & 1) != 0;
  if (has_columns ? !read_columns(reader, entry) : is_first) return false;
  entry.cells = static_cast<std::uint32_t>(cells_.size());
  if (!read_cells(reader, entry, has_columns ? nullptr : &before)) return false;
  if (is_first) {
    entries_.back() = entry;
  } else {
    entries_.push_back(entry);
  }
  return true;
}

bool DecodedSegment::read_columns(Reader& reader, Entry& entry) {
  const std::uint64_t count = reader.varint();
  if (count == 0 || count > reader.bytes_left()) return false;  // each takes a byte at least
  entry.columns = static_cast<std::uint32_t>(columns_.size());
  entry.size = static_cast<std::uint32_t>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t head = reader.varint();
    const std::uint64_t name_size = head >> 1;
    const std::uint32_t name_begin = reader.skip(name_size);
    if (!reader.ok()) return false;
    columns_.push_back({name_begin, static_cast<std::uint32_t>(name_size), (head & 1) != 0});
  }
  return true;
}

/// `before`: the previous entry with the same columns, if any.
bool DecodedSegment::read_cells(Reader& reader, const Entry& entry, const Entry* before) {
  for (std::uint32_t i = 0; i < entry.size; ++i) {
    if (columns_[entry.columns + i].is_integer) {
      const std::int64_t last =
          before == nullptr ? 0 : static_cast<std::int64_t>(cells_[before->cells + i]);
      cells_.push_back(static_cast<std::uint64_t>(advance(last, unfold(reader.varint()))));
    } else {
      const std::uint64_t size = reader.varint();
      cells_.push_back(std::uint64_t{reader.skip(size)} << 32 | size);
    }
    if (!reader.ok()) return false;
  }
  return true;
}

void DecodedSegment::clear() {
  entries_.clear();
  columns_.clear();
  cells_.clear();
  bytes_read_ = 0;
}

StreamEntry DecodedSegment::entry(std::size_t position, std::string_view bytes) const {
  const Entry& from = entries_[position];
  StreamEntry entry;
  entry.id_ = from.id;
  entry.size_ = from.size;
  entry.columns_ = &columns_[from.columns];
  entry.cells_ = &cells_[from.cells];
  entry.bytes_ = bytes.data();
  return entry;
}

std::size_t DecodedSegment::lower_bound(StreamId id) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id,
                       [](const Entry& entry, StreamId bound) { return entry.id < bound; });
  return static_cast<std::size_t>(found - entries_.begin());
}

std::size_t DecodedSegment::memory_bytes() const {
  return heap_bytes(entries_) + heap_bytes(columns_) + heap_bytes(cells_);
}

}  // namespace rushgate
