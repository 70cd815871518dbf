#include "engine/redis/keyspace/stream_segments.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

// Memory of the newest segments of one stream: enough that current consumers never read the store.
// At 10 to 20 bytes an order, the last fifty thousand or more.
constexpr std::size_t kTailBytesMax = 1024 * 1024;

constexpr std::size_t kOneSegment = 0;  // bytes to read

}  // namespace

absl::Status invalid_segment(StreamId first) {
  return absl::DataLossError(
      concat("the store holds an invalid segment of stream entries, at ", first.to_string()));
}

// ---- The end ----

absl::Status StreamSegments::check_end() {
  if (is_end_checked_) return absl::OkStatus();
  const StreamCaches::Use use(cache_slot_);
  std::vector<StreamSegment> newest;
  RETURN_IF_ERROR(
      store_.read_stream_back(object_id_, StreamId::max(), StreamId::max(), kOneSegment, newest));
  if (!newest.empty()) {
    const StreamSegment& segment = newest.front();
    if (!use->decoded.read(segment.first, segment.bytes)) return invalid_segment(segment.first);
    const StreamId last = use->decoded.last();
    if (last > counters_.last_id) {
      return absl::DataLossError(concat("the store holds entry ", last.to_string(), " of stream ",
                                        object_id_, ", whose last id is ",
                                        counters_.last_id.to_string()));
    }
  }
  is_end_checked_ = true;
  return absl::OkStatus();
}

void StreamSegments::forget_known_end() {
  if (StreamCache* const cache = cache_slot_.cache()) cache->chunk.known_to = {};
}

// ---- Appending ----

void StreamSegments::append(StreamId id, StreamFields fields) {
  open_segment_for(id);
  writer_.append(id, fields);
}

StreamId StreamSegments::append_rows(StreamId id, std::span<const std::string_view> names,
                                     std::span<const std::int64_t> values) {
  while (!values.empty()) {
    open_segment_for(id);
    const std::size_t rows = writer_.append_rows(id, names, values);
    values = values.subspan(rows * names.size());
    id.seq += rows;
  }
  return writer_.last();
}

void StreamSegments::open_segment_for(StreamId id) {
  if (writer_.takes(id)) return;
  const StreamId first = writer_.first();
  const StreamId last = writer_.last();
  constexpr std::size_t kSegmentsMin = 4;
  if (full_segments_.size() == full_segments_.capacity()) {
    full_segments_.reserve(std::max(2 * full_segments_.size(), kSegmentsMin));
  }
  full_segments_.push_back({first, last, writer_.take()});
  full_bytes_ += heap_bytes(full_segments_.back().bytes);
}

void StreamSegments::roll_back_to(const Savepoint& savepoint) {
  if (full_segments_.size() > savepoint.full_segments) {
    for (std::size_t i = savepoint.full_segments; i < full_segments_.size(); ++i) {
      full_bytes_ -= heap_bytes(full_segments_[i].bytes);
    }
    Segment& open_then = full_segments_[savepoint.full_segments];
    writer_.resume(open_then.first, open_then.last, std::move(open_then.bytes));
    full_segments_.erase(
        full_segments_.begin() + static_cast<std::ptrdiff_t>(savepoint.full_segments),
        full_segments_.end());
  }
  writer_.roll_back_to(savepoint.writer);
  if (StreamCache* const cache = cache_slot_.cache()) {
    cache->decoded.clear();  // it may be an earlier state of the open segment
  }
  forget_known_end();
}

bool StreamSegments::are_neighbours(StreamId last, StreamId first) const {
  const auto above = last.next();
  const auto below = first.previous();
  if (!above || !below || *above > *below) return true;
  std::vector<StreamSegment> between;
  const absl::Status read =
      store_.read_stream_back(object_id_, *below, *above, kOneSegment, between);
  return read.ok() && (between.empty() || between.front().first <= last);
}

// ---- The end of a batch ----

void StreamSegments::record_open(StoreBatch& batch) const {
  for (const Segment& segment : full_segments_) {
    if (counters_.are_trimmed_to(segment.last)) continue;
    batch.append_segment(object_id_, segment.first, segment.bytes);
  }
  if (!writer_.empty() && !counters_.are_trimmed_to(writer_.last())) {
    batch.append_segment(object_id_, writer_.first(), writer_.bytes());
  }
}

void StreamSegments::end_batch() {
  try {
    extend_tail();
  } catch (const std::bad_alloc&) {
    cache_slot_.drop();
  }
  full_segments_.clear();
  full_bytes_ = 0;
  writer_.take();
}

void StreamSegments::extend_tail() {
  const bool has_new = !full_segments_.empty() || !writer_.empty();
  if (!has_new && cache_slot_.cache() == nullptr) return;
  const StreamCaches::Use use(cache_slot_);
  StreamCache& cache = *cache_slot_.cache();
  for (Segment& segment : full_segments_) append_to_tail(cache, std::move(segment));
  if (!writer_.empty()) {
    const StreamId first = writer_.first();
    const StreamId last = writer_.last();
    append_to_tail(cache, {first, last, writer_.take()});
  }
  shorten_tail(cache);
}

void StreamSegments::append_to_tail(StreamCache& cache, Segment segment) const {
  if (counters_.are_trimmed_to(segment.last)) return;  // the store has dropped it
  cache.append_to_tail(std::move(segment));
}

void StreamSegments::shorten_tail(StreamCache& cache) const {
  while (!cache.tail.empty() &&
         (cache.tail_bytes > kTailBytesMax || counters_.are_trimmed_to(cache.tail.front().last))) {
    cache.pop_tail();
  }
}

// ---- Memory ----

std::size_t StreamSegments::memory_bytes() const {
  return heap_bytes(full_segments_) + full_bytes_ + writer_.memory_bytes();
}

std::size_t StreamSegments::measured_bytes() const {
  std::size_t bytes = heap_bytes(full_segments_) + writer_.memory_bytes();
  for (const Segment& segment : full_segments_) bytes += heap_bytes(segment.bytes);
  return bytes;
}

std::size_t StreamSegments::cache_bytes() const {
  const StreamCache* const cache = cache_slot_.cache();
  return cache == nullptr ? 0 : cache->measured_bytes();
}

}  // namespace rushgate
