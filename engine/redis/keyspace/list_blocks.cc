#include "engine/redis/keyspace/list_blocks.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <new>
#include <utility>

namespace rushgate {

// ---- Several blocks ----

void ListBlockVector::reserve(std::size_t at) {
  if (at == 0 && size() > 0) {
    if (unused_ > 0) return;
    const std::size_t room = size() / 2 + 1;
    if (blocks_.capacity() - blocks_.size() >= room) {
      blocks_.resize(blocks_.size() + room);
      std::move_backward(blocks_.begin(),
                         std::prev(blocks_.end(), static_cast<std::ptrdiff_t>(room)),
                         blocks_.end());
    } else {
      std::vector<ListBlock> wider;
      wider.reserve(room + blocks_.capacity());  // never less than before
      wider.resize(room);
      std::ranges::move(blocks_, std::back_inserter(wider));
      blocks_ = std::move(wider);
    }
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

void ListBlockVector::note_to_shrink(std::size_t at) {
  // Changes are mostly near the ends of a list, so two ranges have few other blocks in them.
  constexpr std::size_t kNear = 64;
  Range& first = to_shrink_.front();
  const bool is_near = first.empty() || (at + kNear >= first.begin && at < first.end + kNear);
  (is_near ? first : to_shrink_.back()).add(at);
}

void ListBlockVector::note_inserted(std::size_t at, std::size_t count) {
  for (Range& range : to_shrink_) {
    if (at < range.end) range.end += count;
  }
  for (std::size_t i = at; i < at + count; ++i) {
    const ListBlock& block = (*this)[i];
    block_bytes_ += block.memory_bytes();
    if (block.wants_to_shrink()) note_to_shrink(i);
  }
}

void ListBlockVector::note_taken(std::size_t at, std::size_t count) {
  for (Range& range : to_shrink_) {
    if (!range.empty() && range.begin > at) range.begin -= std::min(count, range.begin - at);
  }
}

void ListBlockVector::shrink() {
  for (const Range& range : std::exchange(to_shrink_, {})) {
    const std::size_t end = std::min(range.end, size());
    for (std::size_t i = range.begin; i < end; ++i) {
      if ((*this)[i].wants_to_shrink()) edit(i, [](ListBlock& block) { block.shrink(); });
    }
  }
  if (has_much_room()) shrink_room();
}

/// Does nothing if there is no memory for the copy.
void ListBlockVector::shrink_room() {
  try {
    std::vector<ListBlock> fitting;
    fitting.reserve(2 * size());
    const auto used = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_));
    std::move(used, blocks_.end(), std::back_inserter(fitting));
    blocks_ = std::move(fitting);
    unused_ = 0;
  } catch (const std::bad_alloc&) {
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
