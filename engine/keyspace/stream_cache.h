// What streams keep in memory of what the store has: their newest runs, and what was read last.
// All streams share one budget. The caches of the streams that were used least recently are
// dropped.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/stream_id.h"
#include "engine/keyspace/stream_run.h"
#include "engine/store/store.h"

namespace rushgate {

/// Of one stream.
struct StreamCache {
  struct Run {
    StreamId first;
    StreamId last;
    std::string bytes;
  };
  /// Runs that were read from the store last: neighbours, ascending.
  struct Chunk {
    std::vector<StreamRun> runs;
    StreamId known_to;  // none follows them up to here
  };

  std::deque<Run> tail;  // the newest runs of the store
  std::size_t tail_bytes = 0;
  Chunk chunk;
  std::size_t chunk_bytes = 0;
  DecodedRun decoded;  // the run that was read last

  void append_to_tail(Run run);
  void pop_tail();
  /// Counts the runs of the chunk.
  void measure_chunk();

  [[nodiscard]] std::size_t memory_bytes() const;
  /// The same, told from what there is instead of what was counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;
};

/// The budget, and the order of use. Not thread-safe: it belongs to whoever has the turn.
class StreamCaches {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{64} * 1024 * 1024;

  /// The place of one stream. Holds a cache from the first use until it is dropped.
  class Slot {
   public:
    explicit Slot(StreamCaches& all) : all_(all) {}
    ~Slot() { drop(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    /// Null if there is none.
    [[nodiscard]] StreamCache* cache() const { return cache_.get(); }
    /// Must not be in use.
    void drop();

   private:
    friend class StreamCaches;

    StreamCaches& all_;
    std::unique_ptr<StreamCache> cache_;
    std::size_t counted_bytes_ = 0;
    int uses_ = 0;
    Slot* newer_ = nullptr;  // of those with a cache
    Slot* older_ = nullptr;
  };

  /// Makes a cache if there is none, and keeps it from being dropped. The budget is enforced at the
  /// end.
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
  /// Drops caches until they hold at most `bytes`, but for those in use.
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
