#include "adapters/resp/output_queue.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "adapters/resp/resp_encoder.h"
#include "engine/core/base/heap.h"

namespace rushgate {

void OutputQueue::append(Reply&& reply, RespVersion version) {
  if (reply.is_aggregate()) {
    begin_tail();
    const std::size_t before = tail_.size();
    append_aggregate_header(reply, version, tail_);
    size_ += tail_.size() - before;
    for (Reply& element : reply.mutable_elements()) append(std::move(element), version);
    return;
  }
  if (reply.kind() != Reply::Kind::kBulk || reply.text().size() < kLargeBytes) {
    return append(std::as_const(reply), version);
  }
  const std::size_t before = tail_.size();
  append_bulk_header(reply.text().size(), tail_);
  size_ += tail_.size() - before + reply.text().size() + kLineEnd.size();
  complete_tail();
  add_chunk(std::move(reply.mutable_text()));
  tail_ = kLineEnd;
}

void OutputQueue::append(const Reply& reply, RespVersion version) {
  begin_tail();
  const std::size_t before = tail_.size();
  append_reply(reply, version, tail_);
  size_ += tail_.size() - before;
}

void OutputQueue::begin_tail() {
  if (tail_.size() >= kChunkBytes) complete_tail();
  if (tail_.empty() && expected_bytes_ > tail_.capacity()) tail_.reserve(expected_bytes_);
}

void OutputQueue::complete_tail() {
  if (tail_.empty()) return;
  expected_bytes_ = std::min(tail_.size(), kChunkBytes);
  add_chunk(std::exchange(tail_, {}));
}

void OutputQueue::add_chunk(std::string chunk) {
  chunk_bytes_ += heap_bytes(chunk);
  chunks_.push_back(std::move(chunk));
}

std::size_t OutputQueue::front(std::span<std::string_view> views) const {
  std::size_t filled = 0;
  const auto add = [&](const std::string& chunk) {
    views[filled] = chunk;
    if (filled == 0) views[filled].remove_prefix(consumed_);
    ++filled;
  };
  for (std::size_t i = first_; i < chunks_.size() && filled < views.size(); ++i) add(chunks_[i]);
  if (filled < views.size() && !tail_.empty()) add(tail_);
  return filled;
}

void OutputQueue::consume(std::size_t bytes) {
  assert(bytes <= size_);
  size_ -= bytes;
  if (size_ == 0) return clear();
  consumed_ += bytes;
  while (first_ < chunks_.size() && consumed_ >= chunks_[first_].size()) pop_chunk();
}

void OutputQueue::pop_chunk() {
  std::string& chunk = chunks_[first_++];
  consumed_ -= chunk.size();
  chunk_bytes_ -= heap_bytes(chunk);
  std::string().swap(chunk);
  // Bounds a queue that is never empty.
  if (2 * first_ < chunks_.size()) return;
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void OutputQueue::clear() {
  expected_bytes_ = std::min(tail_.size(), kChunkBytes);
  std::vector<std::string>().swap(chunks_);
  tail_.clear();
  if (tail_.capacity() > kKeptBytes) std::string().swap(tail_);
  first_ = consumed_ = size_ = chunk_bytes_ = 0;
}

std::size_t OutputQueue::memory_bytes() const {
  return heap_bytes(chunks_) + chunk_bytes_ + heap_bytes(tail_);
}

}  // namespace rushgate
