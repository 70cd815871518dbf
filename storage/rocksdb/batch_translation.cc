#include "storage/rocksdb/batch_translation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

// Up to this number, segments are deleted one by one; more are deleted as a range. A read after a
// new range sorts all ranges of the memtable again, so ranges must be few.
constexpr std::size_t kSingleDeletesMax = 1024;

// Returns the begin of a deleted range: above all segments before `first`, not above `first`, and
// of another length than a segment's key (see StreamOfSegment in rocksdb_database.cc).
std::string range_begin(std::uint64_t stream, StreamId first) {
  if (const std::optional<StreamId> previous = first.previous()) {
    return SegmentKey(stream, *previous).successor();
  }
  return std::string(SegmentKey(stream, first).view().substr(0, kStreamNumberBytes));
}

}  // namespace

/// If WriteBatch runs out of memory within an operation, an assertion of RocksDB ends the process.
/// So memory is reserved before each, or std::bad_alloc thrown without a change.
void BatchTranslation::make_space(std::size_t bytes) {
  constexpr std::size_t kHeaderMax = 32;  // of an operation: its type, column family and lengths
  const std::string& data = writes_.Data();
  const std::size_t needed = data.size() + bytes + kHeaderMax;
  if (needed <= data.capacity()) return;
  std::string roomier;
  roomier.reserve(std::max(needed, 2 * data.capacity()));
  roomier.append(data);
  writes_ = rocksdb::WriteBatch(std::move(roomier));
}

void BatchTranslation::write(rocksdb::ColumnFamilyHandle* family, std::string_view key,
                             std::string_view value) {
  make_space(key.size() + value.size());
  note(writes_.Put(family, to_slice(key), to_slice(value)));
}

void BatchTranslation::erase(rocksdb::ColumnFamilyHandle* family, std::string_view key) {
  make_space(key.size());
  note(writes_.Delete(family, to_slice(key)));
}

void BatchTranslation::erase_range(rocksdb::ColumnFamilyHandle* family, std::string_view begin,
                                   std::string_view end) {
  make_space(begin.size() + end.size());
  note(writes_.DeleteRange(family, to_slice(begin), to_slice(end)));
}

void BatchTranslation::put(std::string_view key, std::string_view value) {
  write(database_.state(), key, value);
}

void BatchTranslation::remove(std::string_view key) { erase(database_.state(), key); }

void BatchTranslation::remove_range(std::string_view begin, std::string_view end) {
  if (begin >= end) return;
  erase_range(database_.state(), begin, end);
}

void BatchTranslation::append_segment(std::uint64_t stream, StreamId first,
                                      std::string_view bytes) {
  appended_.emplace_back(stream, first);
  const SegmentKey key(stream, first);
  write(database_.stream(), key.view(), bytes);
}

void BatchTranslation::trim_stream(std::uint64_t stream, StreamId before) {
  const Stored stored = find_stored(stream, before);
  std::optional<StreamId> kept = stored.last;  // the last segment that begins at or before `before`
  for (const auto& [other, first] : appended_) {
    if (other == stream && first <= before) kept = first;
  }
  if (!kept) return;
  delete_stored(stream, stored, kept);
  delete_appended(stream, kept);
  trimmed_.emplace_back(stream, *kept);
}

void BatchTranslation::remove_segment(std::uint64_t stream, StreamId first) {
  delete_segment(stream, first);
  std::erase(appended_, std::pair(stream, first));
  removed_.emplace(stream, first);
}

void BatchTranslation::drop_streams(std::uint64_t first, std::uint64_t last) {
  first == last ? drop_one(first) : drop_range({.first = first, .last = last});
}

void BatchTranslation::drop_one(std::uint64_t stream) {
  delete_stored(stream, find_stored(stream, StreamId::max()), std::nullopt);
  delete_appended(stream, std::nullopt);
  std::erase_if(trimmed_, [&](const auto& trimmed) { return trimmed.first == stream; });
  dropped_.insert(stream);
}

// The range covers the segments appended by this batch, because they were written before it.
void BatchTranslation::drop_range(StreamRange streams) {
  erase_range(database_.stream(), range_begin(streams.first, StreamId::min()),
              SegmentKey(streams.last, StreamId::max()).successor());
  std::erase_if(appended_, [&](const auto& segment) { return streams.contains(segment.first); });
  std::erase_if(trimmed_, [&](const auto& trimmed) { return streams.contains(trimmed.first); });
  dropped_ranges_.push_back(streams);
}

// Returns the stream's segments from before this batch that begin at or before `to`.
BatchTranslation::Stored BatchTranslation::find_stored(std::uint64_t stream, StreamId to) {
  Stored stored;
  if (dropped(stream)) return stored;
  const SegmentIterator segment(database_, stream, first_segments_.of(stream), to);
  for (segment->SeekToFirst(); segment->Valid() && stored.firsts.size() <= kSingleDeletesMax;
       segment->Next()) {
    if (!removed(stream, segment.first())) stored.firsts.push_back(segment.first());
  }
  if (!stored.firsts.empty()) stored.last = stored.firsts.back();
  if (segment->Valid()) {
    segment->SeekToLast();
    while (segment->Valid() && removed(stream, segment.first())) segment->Prev();
    if (segment->Valid()) stored.last = segment.first();
  }
  note(segment->status());
  return stored;
}

// Deletes the segments before `kept`, or all.
void BatchTranslation::delete_stored(std::uint64_t stream, const Stored& segments,
                                     std::optional<StreamId> kept) {
  if (segments.firsts.size() > kSingleDeletesMax) {
    const SegmentKey last(stream, *segments.last);
    erase_range(database_.stream(), range_begin(stream, segments.firsts.front()), last.view());
    if (!kept || *segments.last < *kept) delete_segment(stream, *segments.last);
    return;
  }
  for (const StreamId first : segments.firsts) {
    if (!kept || first < *kept) delete_segment(stream, first);
  }
}

// As delete_stored(), for the segments appended by this batch.
void BatchTranslation::delete_appended(std::uint64_t stream, std::optional<StreamId> kept) {
  std::erase_if(appended_, [&](const std::pair<std::uint64_t, StreamId>& segment) {
    if (segment.first != stream || (kept && segment.second >= *kept)) return false;
    delete_segment(stream, segment.second);
    return true;
  });
}

void BatchTranslation::delete_segment(std::uint64_t stream, StreamId first) {
  const SegmentKey key(stream, first);
  erase(database_.stream(), key.view());
}

bool BatchTranslation::dropped(std::uint64_t stream) const {
  return dropped_.contains(stream) || std::ranges::any_of(dropped_ranges_, [&](StreamRange range) {
           return range.contains(stream);
         });
}

void BatchTranslation::note(const rocksdb::Status& status) {
  if (!status.ok() && status_.ok()) status_ = to_absl(status, kWriting, database_.dir());
}

void BatchTranslation::update(FirstSegments& first_segments) const {
  for (const std::uint64_t stream : dropped_) first_segments.dropped(stream);
  for (const StreamRange streams : dropped_ranges_) first_segments.dropped(streams);
  for (const auto& [stream, first] : trimmed_) first_segments.trimmed(stream, first);
}

}  // namespace rushgate
