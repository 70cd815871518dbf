// The runs of one stream, packed: a run of one small entry costs three or four bytes beyond its
// own.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/stream_id.h"
#include "engine/store/store.h"

namespace rushgate {

/// Grows at the end, shrinks at the front; what the functions mean stands in engine/store/store.h
/// and store_batch.h. Not thread-safe.
class PackedRuns {
 public:
  /// If there is no memory for it, nothing is changed.
  void append(StreamId first, std::string_view bytes);

  /// Where the runs end.
  struct Mark {
    std::size_t chunks;
    std::size_t bytes;  // of the last chunk
    StreamId last;
  };
  [[nodiscard]] Mark mark() const {
    if (chunks_.empty()) return {};
    return {chunks_.size(), chunks_.back().bytes.size(), chunks_.back().last};
  }
  /// Forgets what was appended since. Nothing was trimmed meanwhile.
  void take_back_to(const Mark& mark);
  void trim(StreamId before);
  /// Needs no memory but `memory`, which memory_for_remove() gives.
  void remove(StreamId first, std::string memory);
  [[nodiscard]] static std::string memory_for_remove();
  [[nodiscard]] bool empty() const { return chunks_.empty(); }
  /// The id with which the last run begins. Not when empty.
  [[nodiscard]] StreamId last() const { return chunks_.back().last; }

  void read(StreamId from, StreamId to, std::size_t bytes_max, std::vector<StreamRun>& runs) const;
  void read_back(StreamId from, StreamId to, std::size_t bytes_max,
                 std::vector<StreamRun>& runs) const;

  /// What it occupies.
  [[nodiscard]] std::size_t memory_bytes() const {
    return chunks_.size() * sizeof(Chunk) + byte_bytes_;
  }

 private:
  // Runs in a row. Each is: length (varint), ms and seq (varints, relative to the run before it),
  // bytes. The id of the first one is not taken from there but from `first`, so that trimming needs
  // to move no bytes.
  struct Chunk {
    StreamId first;         // id of the first run that is not trimmed
    StreamId last;          // id of the last run
    std::size_t begin = 0;  // where the first run that is not trimmed stands in `bytes`
    std::string bytes;
  };
  class Walk;
  static void append_to(Chunk& chunk, StreamId first, std::string_view bytes);
  using Chunks = std::deque<Chunk>;

  // The last chunk that begins at or before `id`; the first one if none does. Not when empty.
  [[nodiscard]] Chunks::const_iterator find(StreamId id) const;

  Chunks chunks_;               // ascending; none is empty
  std::size_t byte_bytes_ = 0;  // that their bytes hold
};

}  // namespace rushgate
