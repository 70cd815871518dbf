#include "engine/keyspace/list_value.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rushgate {

// ---- The blocks ----

void ListBlocks::insert(std::size_t at, ListBlock block) {
  block_bytes_ += block.memory_bytes();
  if (at == 0 && size() > 0) {
    if (unused_ == 0) {
      const std::size_t room = size() / 2 + 1;
      std::vector<ListBlock> wider(room + blocks_.size());
      std::ranges::move(blocks_, std::next(wider.begin(), static_cast<std::ptrdiff_t>(room)));
      blocks_ = std::move(wider);
      unused_ = room;
    }
    blocks_[--unused_] = std::move(block);
    return;
  }
  blocks_.insert(std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_ + at)),
                 std::move(block));
}

void ListBlocks::insert(std::size_t at, std::vector<ListBlock> blocks) {
  for (const ListBlock& block : blocks) block_bytes_ += block.memory_bytes();
  blocks_.insert(std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_ + at)),
                 std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end()));
}

std::vector<ListBlock> ListBlocks::take(std::size_t at, std::size_t count) {
  constexpr std::size_t kUnusedMax = 16;  // or as many as are used
  const auto begin = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(unused_ + at));
  const auto end = std::next(begin, static_cast<std::ptrdiff_t>(count));
  std::vector<ListBlock> taken(std::make_move_iterator(begin), std::make_move_iterator(end));
  for (const ListBlock& block : taken) block_bytes_ -= block.memory_bytes();
  if (at > 0) {
    blocks_.erase(begin, end);
    return taken;
  }
  std::fill(begin, end, ListBlock());  // they are in front now
  unused_ += count;
  if (unused_ > size() + kUnusedMax) {
    blocks_.erase(blocks_.begin(), end);
    unused_ = 0;
  }
  return taken;
}

std::size_t ListBlocks::measured_bytes() const {
  std::size_t bytes = heap_bytes(blocks_);
  for (const ListBlock& block : blocks_) bytes += block.memory_bytes();
  return bytes;
}

// ---- Places ----

ListValue::Place ListValue::place_of(std::size_t index) const {
  if (index >= size_) return end();
  if (index < size_ / 2) {
    std::size_t block = 0;
    for (; index >= blocks_[block].size(); ++block) index -= blocks_[block].size();
    return {block, index};
  }
  std::size_t left = size_ - index;  // from the tail: at least one
  std::size_t block = blocks_.size() - 1;
  for (; left > blocks_[block].size(); --block) left -= blocks_[block].size();
  return {block, blocks_[block].size() - left};
}

ListValue::Place ListValue::lower_bound(ListPosition position) const {
  std::size_t begin = 0;
  std::size_t end = blocks_.size();
  while (begin < end) {  // the first block whose last element is not below it
    const std::size_t middle = (begin + end) / 2;
    if (blocks_[middle].positions().back() < position) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  if (begin == blocks_.size()) return this->end();
  return {begin, blocks_[begin].positions().lower_bound(position)};
}

// ---- Changes ----

void ListValue::insert(Place place, ListPosition position, const Scalar& element) {
  ++size_;
  auto [block, at] = place;
  if (at == 0) return insert_between(block, position, element);
  if (blocks_[block].has_room_for(element)) return insert_into(block, at, position, element);
  split_block(block, at);
  insert_between(block + 1, position, element);
}

/// Before the first element of a block: at the end of the block before it, if there is room.
void ListValue::insert_between(std::size_t block, ListPosition position, const Scalar& element) {
  const bool has_previous = block > 0;
  const bool has_next = block < blocks_.size();
  if (has_previous && blocks_[block - 1].has_room_for(element)) {
    return insert_into(block - 1, blocks_[block - 1].size(), position, element);
  }
  if (has_next && blocks_[block].has_room_for(element)) {
    return insert_into(block, 0, position, element);
  }
  const auto shrink = [](ListBlock& full) { full.shrink(); };
  if (has_previous) blocks_.edit(block - 1, shrink);
  if (has_next) blocks_.edit(block, shrink);
  ListBlock only;
  only.insert(0, position, element);
  blocks_.insert(block, std::move(only));
}

void ListValue::assign(Place place, const Scalar& element) {
  const ListBlock& block = blocks_[place.block];
  if (block.size() == 1 || block.has_room_for(element)) {
    return blocks_.edit(place.block,
                        [&](ListBlock& changed) { changed.assign(place.at, element); });
  }
  const ListPosition position = this->position(place);
  insert(erase(place), position, element);
}

ListValue::Place ListValue::erase(Place place) {
  --size_;
  blocks_.edit(place.block, [&](ListBlock& block) { block.erase(place.at); });
  if (blocks_[place.block].size() == 0) blocks_.take(place.block, 1);
  return normal(place);
}

void ListValue::insert_into(std::size_t block, std::size_t at, ListPosition position,
                            const Scalar& element) {
  blocks_.edit(block, [&](ListBlock& own) { own.insert(at, position, element); });
}

/// The elements of the block from `at` on become one of their own.
void ListValue::split_block(std::size_t block, std::size_t at) {
  blocks_.insert(block + 1,
                 blocks_.edit(block, [at](ListBlock& whole) { return whole.take_from(at); }));
}

/// Lets a block begin at `index`: which one.
std::size_t ListValue::split(std::size_t index) {
  const auto [block, at] = place_of(index);
  if (at == 0) return block;
  split_block(block, at);
  return block + 1;
}

ListValue ListValue::take(std::size_t first, std::size_t count) {
  const std::size_t block = split(first);
  const auto [blocks, elements] = whole_blocks(block, count);
  ListValue taken;
  taken.blocks_.insert(0, blocks_.take(block, blocks));
  taken.size_ = elements;
  size_ -= elements;
  for (Place place{block, 0}; taken.size_ < count; place = erase(place)) {
    taken.insert(taken.end(), position(place), element(place));
  }
  return taken;
}

/// How many blocks from `first` on have together at most `count` elements, and how many elements.
std::pair<std::size_t, std::size_t> ListValue::whole_blocks(std::size_t first,
                                                            std::size_t count) const {
  std::size_t blocks = 0;
  std::size_t elements = 0;
  for (; first + blocks < blocks_.size(); ++blocks) {
    const std::size_t more = blocks_[first + blocks].size();
    if (elements + more > count) break;
    elements += more;
  }
  return {blocks, elements};
}

void ListValue::put_back(std::size_t first, ListValue taken) {
  blocks_.insert(split(first), taken.blocks_.take(0, taken.blocks_.size()));
  size_ += taken.size_;
}

void ListValue::reposition(std::size_t first, std::span<const ListPosition> positions) {
  Place place = place_of(first);
  while (!positions.empty()) {
    blocks_.edit(place.block, [&](ListBlock& changed) {
      ListPositions& own = changed.positions();
      for (; place.at < own.size() && !positions.empty(); ++place.at) {
        own.assign(place.at, positions.front());
        positions = positions.subspan(1);
      }
      own.settle();
    });
    place = {.block = place.block + 1, .at = 0};
  }
}

}  // namespace rushgate
