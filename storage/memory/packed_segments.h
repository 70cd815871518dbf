// The segments of one stream, packed: a segment of one small entry has three or four bytes of
// overhead.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Grows at the end and shrinks at the front. <rushgate/store.h> define the
/// functions. Not thread-safe.
class PackedSegments {
 public:
  /// Changes nothing if there is no memory.
  void append(StreamId first, std::string_view bytes);

  /// A savepoint.
  struct Savepoint {
    std::size_t chunks;
    std::size_t bytes;  // of the last chunk
    StreamId last;
  };
  [[nodiscard]] Savepoint savepoint() const {
    if (chunks_.empty()) return {};
    return {chunks_.size(), chunks_.back().bytes.size(), chunks_.back().last};
  }
  /// Undoes the appends since the savepoint. There must be no trim in between.
  void roll_back_to(const Savepoint& savepoint);
  void trim(StreamId before);
  /// Needs no memory except `memory`, from memory_for_remove().
  void remove(StreamId first, std::string memory);
  [[nodiscard]] static std::string memory_for_remove();
  [[nodiscard]] bool empty() const { return chunks_.empty(); }
  /// Returns the first id of the last segment. Must not be empty.
  [[nodiscard]] StreamId last() const { return chunks_.back().last; }

  void read(StreamId from, StreamId to, std::size_t bytes_max,
            std::vector<StreamSegment>& segments) const;
  void read_back(StreamId from, StreamId to, std::size_t bytes_max,
                 std::vector<StreamSegment>& segments) const;

  /// Returns the memory used.
  [[nodiscard]] std::size_t memory_bytes() const {
    return chunks_.size() * sizeof(Chunk) + byte_bytes_;
  }

 private:
  // Consecutive segments. Each consists of length (varint), ms and seq (varints, relative to the
  // segment before it), bytes. The id of the first one is `first`, regardless of its bytes, so that
  // trimming moves no bytes.
  struct Chunk {
    StreamId first;         // id of the first segment that is not trimmed
    StreamId last;          // id of the last segment
    std::size_t begin = 0;  // position of the first untrimmed segment in `bytes`
    std::string bytes;
  };
  class Walk;
  static void append_to(Chunk& chunk, StreamId first, std::string_view bytes);
  using Chunks = std::deque<Chunk>;

  // Returns the last chunk that begins at or before `id`, else the first. Must not be empty.
  [[nodiscard]] Chunks::const_iterator find(StreamId id) const;

  Chunks chunks_;               // ascending; never empty
  std::size_t byte_bytes_ = 0;  // memory of their bytes
};

}  // namespace rushgate
