// Finds the segments of a stream, in memory or in the store, and decodes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "engine/redis/keyspace/stream_cache.h"
#include "engine/redis/keyspace/stream_segment.h"
#include "engine/redis/keyspace/stream_segments.h"
#include <rushgate/stream_id.h>

namespace rushgate {

/// Points at one segment or none. Keeps the stream's cache in memory. The stream must not change
/// meanwhile.
class StreamSegmentReader {
 public:
  explicit StreamSegmentReader(const StreamSegments& segments)
      : segments_(segments), use_(segments.cache_slot_) {}

  /// Finds the first segment that ends at or after `from`. Errors: the store's, or kDataLoss.
  absl::Status find_from(StreamId from);
  /// Finds the last segment that begins at or before `from`. Errors: the store's.
  absl::Status find_back(StreamId from);

  [[nodiscard]] bool found() const { return !found_.bytes.empty(); }
  /// Returns the id of the first entry of the found segment.
  [[nodiscard]] StreamId first() const { return found_.first; }
  /// Returns true if the current batch appends to the found segment, or filled it.
  [[nodiscard]] bool is_open() const;

  /// Decodes the found segment, for the functions below. Errors: kDataLoss.
  absl::Status decode() { return decode(found_); }
  [[nodiscard]] const DecodedSegment& decoded() const { return use_->decoded; }
  [[nodiscard]] StreamEntry entry(std::size_t position) const {
    return decoded().entry(position, found_.bytes);
  }

 private:
  /// The place of a segment's bytes, without ownership. Null bytes: no segment.
  struct View {
    StreamId first;
    std::string_view bytes;
  };

  std::size_t place_in_tail(StreamId from);
  View in_memory_from(StreamId from);
  [[nodiscard]] View in_memory_back(StreamId from) const;
  absl::Status find_in_store_from(StreamId from);
  absl::Status find_in_store_back(StreamId from);
  absl::Status load_chunk_from(StreamId from, std::size_t bytes_max);
  absl::Status load_chunk_back(StreamId from);
  absl::Status decode(const View& view);
  /// Returns the last id that may be only in the store; empty if all is in memory.
  [[nodiscard]] std::optional<StreamId> store_end() const;
  [[nodiscard]] StreamCache::Chunk& chunk() const { return use_->chunk; }

  const StreamSegments& segments_;
  const StreamCaches::Use use_;
  View found_;
  std::size_t next_in_tail_ = 0;  // index behind the segment of the tail that was found last
};

}  // namespace rushgate
