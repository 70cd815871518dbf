// The memory cache of streams: their newest segments, and the segments read last. All
// streams share one budget. The caches of the least recently used streams are
// dropped.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/redis/keyspace/stream_segment.h"
#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// The cache of one stream.
struct StreamCache {
  struct Segment {
    StreamId first;
    StreamId last;
    std::string bytes;
  };
  /// The segments read last from the store: neighbours, ascending.
  struct Chunk {
    std::vector<StreamSegment> segments;
    StreamId known_to;  // no further segment begins up to here
  };

  std::deque<Segment> tail;  // the newest segments of the store
  std::size_t tail_bytes = 0;
  Chunk chunk;
  std::size_t chunk_bytes = 0;
  DecodedSegment decoded;  // the segment read last

  void append_to_tail(Segment segment);
  void pop_tail();
  /// Counts the segments of the chunk.
  void measure_chunk();

  [[nodiscard]] std::size_t memory_bytes() const;
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;
};

/// The budget, and the order of use. Not thread-safe: it belongs to the thread that holds the turn.
class StreamCaches {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{64} * 1024 * 1024;

  /// The slot of one stream. Holds a cache from its first use until it is dropped.
  class Slot {
   public:
    explicit Slot(StreamCaches& all) : all_(all) {}
    ~Slot() { drop(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    /// Returns the cache; null if there is none.
    [[nodiscard]] StreamCache* cache() const { return cache_.get(); }
    /// Drops the cache, which must not be in use.
    void drop();

   private:
    friend class StreamCaches;

    StreamCaches& all_;
    std::unique_ptr<StreamCache> cache_;
    std::size_t counted_bytes_ = 0;
    int uses_ = 0;
    Slot* newer_ = nullptr;  // neighbour in the order of use
    Slot* older_ = nullptr;
  };

  /// Creates the cache if needed and prevents it from being dropped. Its destructor enforces the
  /// budget.
  class Use {
   public:
    explicit Use(Slot& slot);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    StreamCache* operator->() const { return slot_.cache(); }

   private:
    Slot& slot_;
  };

  StreamCaches() = default;
  StreamCaches(const StreamCaches&) = delete;
  StreamCaches& operator=(const StreamCaches&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
  void set_bytes_max(std::size_t bytes_max) {
    bytes_max_ = bytes_max;
    shed_to(bytes_max);
  }
  /// Drops caches that are not in use until the rest holds at most `bytes`.
  void shed_to(std::size_t bytes);

 private:
  void enter(Slot& slot);
  void leave(Slot& slot);

  std::size_t bytes_max_ = kBytesMax;
  std::size_t bytes_ = 0;
  Slot* newest_ = nullptr;
  Slot* oldest_ = nullptr;
};

}  // namespace rushgate
