#include "engine/redis/keyspace/stream_segment_reader.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

#include "engine/core/base/status_macros.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

// Bytes read from the store at once: enough to make the cost of seeking small, and few enough to
// drop.
constexpr std::size_t kChunkBytes = 64 * 1024;

template <class Segments>
auto first_after(Segments& segments, StreamId id) {
  return std::upper_bound(
      segments.begin(), segments.end(), id,
      [](StreamId bound, const auto& segment) { return bound < segment.first; });
}

template <class Segments>
auto first_ending_at_or_after(Segments& segments, StreamId id) {
  return std::lower_bound(segments.begin(), segments.end(), id,
                          [](const auto& segment, StreamId bound) { return segment.last < bound; });
}

}  // namespace

absl::Status StreamSegmentReader::find_from(StreamId from) {
  found_ = {};
  if (const auto end = store_end(); end && from <= *end) {
    if (absl::Status searched = find_in_store_from(from); !searched.ok() || found()) {
      return searched;
    }
  }
  found_ = in_memory_from(from);
  return absl::OkStatus();
}

absl::Status StreamSegmentReader::find_back(StreamId from) {
  found_ = in_memory_back(from);
  if (found()) return absl::OkStatus();
  const auto end = store_end();
  return end ? find_in_store_back(std::min(from, *end)) : absl::OkStatus();
}

bool StreamSegmentReader::is_open() const {
  const auto& full = segments_.full_segments_;
  const SegmentWriter& writer = segments_.writer_;
  return (!full.empty() && found_.first >= full.front().first) ||
         (!writer.empty() && found_.first >= writer.first());
}

absl::Status StreamSegmentReader::decode(const View& view) {
  return use_->decoded.read(view.first, view.bytes) ? absl::OkStatus()
                                                    : invalid_segment(view.first);
}

// ---- In memory ----

std::optional<StreamId> StreamSegmentReader::store_end() const {
  StreamId begin;
  if (!use_->tail.empty()) {
    begin = use_->tail.front().first;
  } else if (!segments_.full_segments_.empty()) {
    begin = segments_.full_segments_.front().first;
  } else if (!segments_.writer_.empty()) {
    begin = segments_.writer_.first();
  } else {
    return segments_.counters_.last_id;
  }
  if (begin <= segments_.counters_.first_id) return std::nullopt;
  return begin.previous();
}

/// Returns the index of the tail's first segment that ends at or after `from`. Looks at the one behind
/// the last found one first: a segment may have a single entry.
std::size_t StreamSegmentReader::place_in_tail(StreamId from) {
  const auto& tail = use_->tail;
  const bool is_next = next_in_tail_ > 0 && next_in_tail_ < tail.size() &&
                       tail[next_in_tail_ - 1].last < from && tail[next_in_tail_].last >= from;
  const std::size_t place =
      is_next ? next_in_tail_
              : static_cast<std::size_t>(first_ending_at_or_after(tail, from) - tail.begin());
  next_in_tail_ = place + 1;
  return place;
}

StreamSegmentReader::View StreamSegmentReader::in_memory_from(StreamId from) {
  const auto& tail = use_->tail;
  const auto& full = segments_.full_segments_;
  const SegmentWriter& writer = segments_.writer_;
  if (const std::size_t place = place_in_tail(from); place < tail.size()) {
    return {tail[place].first, tail[place].bytes};
  }
  if (const auto segment = first_ending_at_or_after(full, from); segment != full.end()) {
    return {segment->first, segment->bytes};
  }
  if (!writer.empty() && writer.last() >= from) return {writer.first(), writer.bytes()};
  return {};
}

StreamSegmentReader::View StreamSegmentReader::in_memory_back(StreamId from) const {
  const auto& tail = use_->tail;
  const auto& full = segments_.full_segments_;
  const SegmentWriter& writer = segments_.writer_;
  if (!writer.empty() && writer.first() <= from) return {writer.first(), writer.bytes()};
  if (const auto next = first_after(full, from); next != full.begin()) {
    return {std::prev(next)->first, std::prev(next)->bytes};
  }
  if (const auto next = first_after(tail, from); next != tail.begin()) {
    return {std::prev(next)->first, std::prev(next)->bytes};
  }
  return {};
}

// ---- In the store ----

absl::Status StreamSegmentReader::find_in_store_from(StreamId from) {
  std::size_t bytes_max = kChunkBytes;
  // If not 0, the chunk begins with the segment of `from`, or the next.
  std::size_t bytes_asked = 0;
  while (true) {
    const auto& loaded = chunk().segments;
    const auto next = first_after(loaded, from);
    if (next != loaded.begin()) {
      const View candidate{std::prev(next)->first, std::prev(next)->bytes};
      RETURN_IF_ERROR(decode(candidate));
      if (use_->decoded.last() >= from) {
        found_ = candidate;
        return absl::OkStatus();
      }
      // Its successor must be read too, if there is one.
      bytes_max = kChunkBytes + candidate.bytes.size();
    }
    if (next != loaded.end() && (bytes_asked != 0 || next != loaded.begin())) {
      found_ = {next->first, next->bytes};
      return absl::OkStatus();
    }
    if (bytes_asked == bytes_max) return absl::OkStatus();  // there is none
    RETURN_IF_ERROR(load_chunk_from(from, bytes_max));
    bytes_asked = bytes_max;
  }
}

absl::Status StreamSegmentReader::find_in_store_back(StreamId from) {
  for (bool is_loaded = false;; is_loaded = true) {
    const auto& loaded = chunk().segments;
    const auto next = first_after(loaded, from);
    if (next != loaded.begin() && (next != loaded.end() || from <= chunk().known_to)) {
      found_ = {std::prev(next)->first, std::prev(next)->bytes};
      return absl::OkStatus();
    }
    if (is_loaded) return absl::OkStatus();  // there is none
    RETURN_IF_ERROR(load_chunk_back(from));
  }
}

absl::Status StreamSegmentReader::load_chunk_from(StreamId from, std::size_t bytes_max) {
  auto& loaded = chunk().segments;
  loaded.clear();
  chunk().known_to = {};
  const StreamId to = store_end().value_or(segments_.counters_.last_id);
  absl::Status status =
      segments_.store_.read_stream(segments_.object_id_, from, to, bytes_max, loaded);
  if (!status.ok()) loaded.clear();
  use_->measure_chunk();
  return status;
}

absl::Status StreamSegmentReader::load_chunk_back(StreamId from) {
  auto& loaded = chunk().segments;
  loaded.clear();
  chunk().known_to = from;
  absl::Status status = segments_.store_.read_stream_back(
      segments_.object_id_, from, segments_.counters_.first_id, kChunkBytes, loaded);
  if (!status.ok()) loaded.clear();
  std::reverse(loaded.begin(), loaded.end());
  use_->measure_chunk();
  return status;
}

}  // namespace rushgate
