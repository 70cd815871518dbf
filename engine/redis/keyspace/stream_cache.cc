#include "engine/redis/keyspace/stream_cache.h"

#include <cassert>
#include <utility>

#include "engine/core/base/heap.h"

namespace rushgate {
namespace {

/// Returns the memory in a list of segments.
std::size_t bytes_of(const StreamCache::Segment& segment) {
  return sizeof(segment) + heap_bytes(segment.bytes);
}

// The memory of libstdc++'s deque when it is empty.
constexpr std::size_t kDequeBytes = heap_block(8 * sizeof(void*)) + heap_block(512);

constexpr std::size_t kOwnBytes = heap_block(sizeof(StreamCache)) + kDequeBytes;

}  // namespace

// ---- Of one stream ----

void StreamCache::append_to_tail(Segment segment) {
  tail.push_back(std::move(segment));
  tail_bytes += bytes_of(tail.back());
}

void StreamCache::pop_tail() {
  tail_bytes -= bytes_of(tail.front());
  tail.pop_front();
}

void StreamCache::measure_chunk() {
  chunk_bytes = heap_bytes(chunk.segments);
  for (const StreamSegment& segment : chunk.segments) chunk_bytes += heap_bytes(segment.bytes);
}

std::size_t StreamCache::memory_bytes() const {
  return kOwnBytes + tail_bytes + chunk_bytes + decoded.memory_bytes();
}

std::size_t StreamCache::measured_bytes() const {
  std::size_t bytes = kOwnBytes + decoded.memory_bytes() + heap_bytes(chunk.segments);
  for (const Segment& segment : tail) bytes += bytes_of(segment);
  for (const StreamSegment& segment : chunk.segments) bytes += heap_bytes(segment.bytes);
  return bytes;
}

// ---- The budget ----

StreamCaches::Use::Use(Slot& slot) : slot_(slot) {
  if (slot.cache_ == nullptr) {
    slot.cache_ = std::make_unique<StreamCache>();
    slot.all_.enter(slot);
  }
  ++slot.uses_;
}

StreamCaches::Use::~Use() {
  StreamCaches& all = slot_.all_;
  if (--slot_.uses_ > 0) return;
  all.leave(slot_);
  all.enter(slot_);
  if (all.bytes_ > all.bytes_max_) all.shed_to(all.bytes_max_);
}

void StreamCaches::Slot::drop() {
  if (cache_ == nullptr) return;
  assert(uses_ == 0);
  all_.leave(*this);
  cache_.reset();
}

void StreamCaches::shed_to(std::size_t bytes) {
  for (Slot* slot = oldest_; slot != nullptr && bytes_ > bytes;) {
    Slot* const newer = slot->newer_;
    if (slot->uses_ == 0) slot->drop();
    slot = newer;
  }
}

void StreamCaches::enter(Slot& slot) {
  slot.counted_bytes_ = slot.cache_->memory_bytes();
  bytes_ += slot.counted_bytes_;
  slot.older_ = std::exchange(newest_, &slot);
  (slot.older_ != nullptr ? slot.older_->newer_ : oldest_) = &slot;
}

void StreamCaches::leave(Slot& slot) {
  bytes_ -= std::exchange(slot.counted_bytes_, 0);
  (slot.newer_ != nullptr ? slot.newer_->older_ : newest_) = slot.older_;
  (slot.older_ != nullptr ? slot.older_->newer_ : oldest_) = slot.newer_;
  slot.newer_ = nullptr;
  slot.older_ = nullptr;
}

}  // namespace rushgate
