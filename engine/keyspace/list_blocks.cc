#include "engine/keyspace/list_blocks.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace rushgate {

// ---- Several blocks ----

void ListBlockVector::reserve(std::size_t at) {
  if (at == 0 && size() > 0) {
    if (unused_ > 0) return;
    const std::size_t room = size() / 2 + 1;
    std::vector<ListBlock> wider;
    wider.reserve(room + blocks_.capacity());  // never less than before
    wider.resize(room);
    std::ranges::move(blocks_, std::back_inserter(wider));
    blocks_ = std::move(wider);
    unused_ = room;
  } else if (blocks_.size() == blocks_.capacity()) {
    blocks_.reserve(2 * blocks_.size() + 1);
  }
}

void ListBlockVector::take(std::size_t at, std::span<ListBlock> taken) {
  const auto begin = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_ + at));
  const auto end = std::next(begin, static_cast<std::ptrdiff_t>(taken.size()));
  std::move(begin, end, taken.begin());
  for (const ListBlock& block : taken) block_bytes_ -= block.memory_bytes();
  note_taken(at, taken.size());
  if (at > 0) {
    blocks_.erase(begin, end);
  } else {
    unused_ += taken.size();
    drop_unused();
  }
}

void ListBlockVector::drop_unused() {
  constexpr std::size_t kUnusedMax = 16;  // or as many as are used
  if (unused_ <= size() + kUnusedMax) return;
  blocks_.erase(blocks_.begin(), std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_)));
  unused_ = 0;
}

/// The space exists: behind the other blocks or in front.
void ListBlockVector::put_back(std::size_t at, std::span<ListBlock> taken) {
  const std::size_t count = taken.size();
  const bool is_full = blocks_.capacity() - blocks_.size() < count;
  if (unused_ >= count && (at == 0 || is_full)) {
    const auto used = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_));
    unused_ -= count;
    const auto moved_to =
        std::move(used, std::next(used, static_cast<std::ptrdiff_t>(at)),
                  std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_)));
    std::ranges::move(taken, moved_to);
  } else {
    if (is_full) {
      blocks_.erase(blocks_.begin(),
                    std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_)));
      unused_ = 0;
    }
    blocks_.insert(std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_ + at)),
                   std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
  }
  note_inserted(at, count);
}

void ListBlockVector::note_inserted(std::size_t at, std::size_t count) {
  if (at < shrink_end_) shrink_end_ += count;
  for (std::size_t i = at; i < at + count; ++i) {
    const ListBlock& block = (*this)[i];
    block_bytes_ += block.memory_bytes();
    if (block.wants_to_shrink()) note_to_shrink(i);
  }
}

void ListBlockVector::note_taken(std::size_t at, std::size_t count) {
  if (shrink_begin_ != kNone && shrink_begin_ > at) {
    shrink_begin_ -= std::min(count, shrink_begin_ - at);
  }
}

void ListBlockVector::shrink() {
  const std::size_t end = std::min(shrink_end_, size());
  const std::size_t begin = std::exchange(shrink_begin_, kNone);
  shrink_end_ = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if ((*this)[i].wants_to_shrink()) edit(i, [](ListBlock& block) { block.shrink(); });
  }
}

std::size_t ListBlockVector::measured_bytes() const {
  std::size_t bytes = heap_bytes(blocks_);
  for (const ListBlock& block : blocks_) bytes += block.memory_bytes();
  return bytes;
}

// ---- One block or several ----

void ListBlocks::reserve(std::size_t at) {
  if (several_ == nullptr) {
    if (only_.empty()) return;
    auto made = std::make_unique<ListBlockVector>();
    made->reserve(0);
    made->put_back(0, {&only_, 1});
    only_ = ListBlock();
    several_ = std::move(made);
  }
  several_->reserve(at);
}

void ListBlocks::take(std::size_t at, std::span<ListBlock> taken) {
  if (several_ != nullptr) return several_->take(at, taken);
  if (!taken.empty()) taken.front() = std::exchange(only_, {});
}

void ListBlocks::put_back(std::size_t at, std::span<ListBlock> taken) {
  if (several_ != nullptr) return several_->put_back(at, taken);
  if (taken.empty()) return;
  assert(only_.empty() && taken.size() == 1);
  only_ = std::move(taken.front());
}

void ListBlocks::shrink() {
  if (several_ != nullptr && several_->size() <= 1) {
    if (several_->size() == 1) several_->take(0, {&only_, 1});
    several_.reset();
  }
  if (several_ != nullptr) {
    several_->shrink();
  } else {
    only_.shrink();
  }
}

}  // namespace rushgate
