#include "storage/memory/packed_segments.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/core/base/varint.h"

namespace rushgate {
namespace {

// Finding a segment reads half a chunk, so chunks are small. A larger segment has its own chunk.
constexpr std::size_t kChunkBytesMax = 4096;

// Appends the segments of a read and counts their bytes.
class Collector {
 public:
  Collector(std::size_t bytes_max, std::vector<StreamSegment>& segments)
      : bytes_max_(bytes_max), segments_(segments) {}

  void add(StreamId first, std::string_view bytes) {
    segments_.push_back({first, std::string(bytes)});
    bytes_ += bytes.size();
  }
  [[nodiscard]] bool full() const { return bytes_ > bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::vector<StreamSegment>& segments_;
};

}  // namespace

// Iterates over the segments of a chunk.
class PackedSegments::Walk {
 public:
  explicit Walk(const Chunk& chunk) : chunk_(&chunk), at_(chunk.begin), first_(chunk.first) {
    read_segment(false);
  }

  // Advances. Returns false, and stays, at the last segment.
  bool next() {
    if (end_ == chunk_->bytes.size()) return false;
    at_ = end_;
    read_segment(true);
    return true;
  }

  // Advances to the last segment that begins at or before `id`.
  void skip_to(StreamId id) {
    for (Walk ahead = *this; ahead.next() && ahead.first() <= id;) *this = ahead;
  }

  [[nodiscard]] StreamId first() const { return first_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view bytes() const {
    return std::string_view(chunk_->bytes).substr(bytes_begin_, end_ - bytes_begin_);
  }

 private:
  void read_segment(bool relative) {
    const char* const begin = chunk_->bytes.data();
    const char* at = begin + at_;
    const std::uint64_t length = read_varint(at);
    const std::uint64_t ms = read_varint(at);
    const std::uint64_t seq = read_varint(at);
    if (relative) first_ = {first_.ms + ms, ms == 0 ? first_.seq + seq : seq};
    bytes_begin_ = static_cast<std::size_t>(at - begin);
    end_ = bytes_begin_ + length;
  }

  const Chunk* chunk_;
  std::size_t at_;               // beginning of the segment,
  std::size_t bytes_begin_ = 0;  // of its bytes,
  std::size_t end_ = 0;          // and its end
  StreamId first_;
};

void PackedSegments::append(StreamId first, std::string_view bytes) {
  assert(chunks_.empty() || chunks_.back().last < first);
  constexpr std::size_t kHeadBytesMax = 30;  // three varints
  const std::size_t bytes_wanted = kHeadBytesMax + bytes.size();
  if (chunks_.empty() || chunks_.back().bytes.size() + bytes_wanted > kChunkBytesMax) {
    Chunk made{first, first, 0, {}};
    made.bytes.reserve(bytes_wanted);
    if (!chunks_.empty()) {
      std::string& full = chunks_.back().bytes;
      byte_bytes_ -= heap_bytes(full);
      full.shrink_to_fit();
      byte_bytes_ += heap_bytes(full);
    }
    byte_bytes_ += heap_bytes(chunks_.emplace_back(std::move(made)).bytes);
  } else {
    std::string& open = chunks_.back().bytes;
    const std::size_t before = heap_bytes(open);
    open.reserve(open.size() + bytes_wanted);
    byte_bytes_ += heap_bytes(open) - before;
  }
  append_to(chunks_.back(), first, bytes);  // throws nothing
}

void PackedSegments::append_to(Chunk& chunk, StreamId first, std::string_view bytes) {
  append_varint(chunk.bytes, bytes.size());
  append_varint(chunk.bytes, first.ms - chunk.last.ms);
  append_varint(chunk.bytes, first.ms == chunk.last.ms ? first.seq - chunk.last.seq : first.seq);
  chunk.bytes += bytes;
  chunk.last = first;
}

void PackedSegments::remove(StreamId first, std::string memory) {
  if (chunks_.empty()) return;
  const auto position = find(first) - chunks_.cbegin();
  Chunk& chunk = chunks_[static_cast<std::size_t>(position)];
  Chunk kept{{}, {}, 0, std::move(memory)};
  bool is_there = false;
  Walk walk(chunk);
  do {
    if (walk.first() == first) {
      is_there = true;
    } else {
      if (kept.bytes.empty()) kept.first = kept.last = walk.first();
      append_to(kept, walk.first(), walk.bytes());
    }
  } while (walk.next());
  if (!is_there) return;
  byte_bytes_ -= heap_bytes(chunk.bytes);
  if (kept.bytes.empty()) {
    chunks_.erase(chunks_.begin() + position);
  } else {
    kept.bytes.shrink_to_fit();
    byte_bytes_ += heap_bytes(kept.bytes);
    chunk = std::move(kept);
  }
}

std::string PackedSegments::memory_for_remove() {
  std::string memory;
  memory.reserve(kChunkBytesMax);  // a larger chunk has one segment
  return memory;
}

void PackedSegments::roll_back_to(const Savepoint& savepoint) {
  while (chunks_.size() > savepoint.chunks) {
    byte_bytes_ -= heap_bytes(chunks_.back().bytes);
    chunks_.pop_back();
  }
  if (chunks_.empty()) return;
  chunks_.back().bytes.resize(savepoint.bytes);
  chunks_.back().last = savepoint.last;
}

void PackedSegments::trim(StreamId before) {
  while (chunks_.size() > 1 && chunks_[1].first <= before) {
    byte_bytes_ -= heap_bytes(chunks_.front().bytes);
    chunks_.pop_front();
  }
  if (chunks_.empty()) return;
  Chunk& chunk = chunks_.front();
  Walk walk(chunk);
  walk.skip_to(before);
  chunk.begin = walk.at();
  chunk.first = walk.first();
}

PackedSegments::Chunks::const_iterator PackedSegments::find(StreamId id) const {
  const auto above =
      std::upper_bound(chunks_.begin(), chunks_.end(), id,
                       [](StreamId wanted, const Chunk& chunk) { return wanted < chunk.first; });
  return above == chunks_.begin() ? above : above - 1;
}

void PackedSegments::read(StreamId from, StreamId to, std::size_t bytes_max,
                          std::vector<StreamSegment>& segments) const {
  if (chunks_.empty() || from > to) return;
  Collector collector(bytes_max, segments);
  for (auto chunk = find(from); chunk != chunks_.end(); ++chunk) {
    Walk walk(*chunk);
    walk.skip_to(from);
    do {
      if (walk.first() > to || collector.full()) return;
      collector.add(walk.first(), walk.bytes());
    } while (walk.next());
  }
}

void PackedSegments::read_back(StreamId from, StreamId to, std::size_t bytes_max,
                               std::vector<StreamSegment>& segments) const {
  if (chunks_.empty() || from < to) return;
  Collector collector(bytes_max, segments);
  std::vector<Walk> forward;
  for (auto chunk = find(from);; --chunk) {
    forward.clear();
    Walk walk(*chunk);
    do {
      if (walk.first() <= from) forward.push_back(walk);
    } while (walk.next());
    std::reverse(forward.begin(), forward.end());
    for (const Walk& segment : forward) {
      collector.add(segment.first(), segment.bytes());
      if (segment.first() <= to || collector.full()) return;
    }
    if (chunk == chunks_.begin()) return;
  }
}

}  // namespace rushgate
