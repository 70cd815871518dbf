// The segments of one stream, in the store and in memory.
//
//   store                               memory
//   ┌─────┬─────┬─────┬─────┬─────┐     ┌─────────────────┐ ┌──────────┐
//   │     │     │     │     │     │     │ newest segments │ │ open ones│
//   └─────┴─────┴─────┴─────┴─────┘     └─────────────────┘ └──────────┘
//      ^ first_id                       tail                appended by the current
//                                                           batch       ^ last_id
//
// The newest segments and the ones read last are cached; all streams share the budget
// (stream_cache.h). Others are read from the store (stream_segment_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/redis/keyspace/stream_cache.h"
#include "engine/redis/keyspace/stream_counters.h"
#include "engine/redis/keyspace/stream_segment.h"
#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Does not own the store, `caches` and `counters`, which must outlive it. Not thread-safe, reading
/// included.
class StreamSegments {
 public:
  StreamSegments(std::uint64_t object_id, Store& store, StreamCaches& caches,
                 const StreamCounters& counters)
      : object_id_(object_id), store_(store), counters_(counters), cache_slot_(caches) {}
  StreamSegments(const StreamSegments&) = delete;
  StreamSegments& operator=(const StreamSegments&) = delete;

  /// Called before an entry is appended or the last id is raised. Returns kDataLoss if the store's
  /// newest segment goes beyond the last id. Asks the store until that was excluded once.
  absl::Status check_end();
  /// Called when the stream was loaded from the store.
  void forget_checked_end() { is_end_checked_ = false; }
  /// Called when ids up to the known end may be given again.
  void forget_known_end();

  // ---- Appending. Ids must be above all earlier ones ----

  void append(StreamId id, StreamFields fields);
  /// Appends entries of integers, one per row of `values`, with ids from `id` on in the same ms.
  /// Enough ids must be left. Returns the last id.
  StreamId append_rows(StreamId id, std::span<const std::string_view> names,
                       std::span<const std::int64_t> values);

  /// A savepoint of the open segments.
  struct Savepoint {
    std::size_t full_segments;
    SegmentWriter::Savepoint writer;
  };
  [[nodiscard]] Savepoint savepoint() const { return {full_segments_.size(), writer_.savepoint()}; }
  /// Undoes the appends since the savepoint. Needs no memory.
  void roll_back_to(const Savepoint& savepoint);

  /// Returns true if no segment begins between these two entries of different segments.
  [[nodiscard]] bool are_neighbours(StreamId last, StreamId first) const;

  // ---- The end of a batch ----

  /// Writes the open segments.
  void record_open(StoreBatch& batch) const;
  /// Called after the commit: the open segments become part of the tail, which drops its oldest.
  void end_batch();
  /// Releases data that can be read from the store again.
  void drop_cache() { cache_slot_.drop(); }

  /// Returns the memory on the heap. Excludes the store's memory, and the cache, which StreamCaches
  /// counts.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;
  /// Computes the memory of the cache from its contents, for tests.
  [[nodiscard]] std::size_t cache_bytes() const;

 private:
  friend class StreamSegmentReader;
  using Segment = StreamCache::Segment;

  void open_segment_for(StreamId id);
  void extend_tail();
  void append_to_tail(StreamCache& cache, Segment segment) const;
  void shorten_tail(StreamCache& cache) const;

  const std::uint64_t object_id_;
  Store& store_;
  const StreamCounters& counters_;
  std::vector<Segment> full_segments_;  // of the current batch, older than writer_
  std::size_t full_bytes_ = 0;          // memory of their bytes
  SegmentWriter writer_;
  bool is_end_checked_ = true;
  mutable StreamCaches::Slot cache_slot_;
};

/// Returns kDataLoss: a stored segment that begins with `first` is invalid.
absl::Status invalid_segment(StreamId first);

}  // namespace rushgate
