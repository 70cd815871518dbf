#include "engine/redis/keyspace/list_value.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/heap.h"

namespace rushgate {

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

// ---- Changes ----

ListValue::Inserted ListValue::insert(Place place, ListPosition position,
                                      const MaybeInteger& element) {
  Inserted done;
  if (place.at == 0) {
    insert_between(place.block, position, element, done);
  } else if (blocks_[place.block].has_space_for(element)) {
    insert_into(place, position, element, done);
  } else {
    split(place.block, place.at);
    try {
      insert_between(place.block + 1, position, element, done);
    } catch (...) {
      unsplit(place.block);
      throw;
    }
    done.split = place;
    done.has_split = true;
  }
  ++size_;
  return done;
}

/// Before the first element of a block: inserts at the end of the previous block, if there is
/// space.
void ListValue::insert_between(std::size_t block, ListPosition position,
                               const MaybeInteger& element, Inserted& done) {
  const bool has_previous = block > 0;
  const bool has_next = block < blocks_.size();
  if (has_previous && blocks_[block - 1].has_space_for(element)) {
    const Place behind{.block = block - 1, .at = blocks_[block - 1].size()};
    return insert_into(behind, position, element, done);
  }
  if (has_next && blocks_[block].has_space_for(element)) {
    return insert_into({.block = block, .at = 0}, position, element, done);
  }
  ListBlock only;
  only.insert(0, position, element);
  blocks_.insert(block, std::move(only));
  const auto ask_to_shrink = [](ListBlock& full) { full.ask_to_shrink(); };
  if (has_previous) blocks_.edit(block - 1, ask_to_shrink);
  if (has_next) blocks_.edit(block + 1, ask_to_shrink);
  done.place = {.block = block, .at = 0};
  done.is_alone = true;
}

void ListValue::insert_into(Place place, ListPosition position, const MaybeInteger& element,
                            Inserted& done) {
  done.place = place;
  blocks_.edit(place.block, [&](ListBlock& block) {
    done.was_regular = block.is_regular();
    block.insert(place.at, position, element);
  });
}

void ListValue::roll_back(const Inserted& inserted) {
  const Place& place = inserted.place;
  if (inserted.is_alone) {
    static_cast<void>(blocks_.take(place.block));
  } else {
    blocks_.edit(place.block, [&](ListBlock& changed) {
      changed.erase(place.at);
      if (inserted.was_regular) changed.make_regular();
    });
  }
  if (inserted.has_split) unsplit(inserted.split.block);
  --size_;
}

ListValue::Erased ListValue::erase(Place place) {
  Erased done{.place = place,
              .position = position(place),
              .element = {},
              .block = nullptr,
              .was_regular = blocks_[place.block].is_regular()};
  if (blocks_[place.block].size() == 1) {
    done.block = std::make_unique<ListBlock>();
    *done.block = blocks_.take(place.block);
  } else {
    done.element = element(place);
    blocks_.edit(place.block, [&](ListBlock& block) { block.erase(place.at); });
  }
  --size_;
  return done;
}

void ListValue::roll_back(Erased erased) {
  const Place& place = erased.place;
  if (erased.block != nullptr) {
    blocks_.put_back(place.block, std::move(*erased.block));
  } else {
    blocks_.edit(place.block, [&](ListBlock& changed) {
      changed.insert(place.at, erased.position, erased.element);
      if (erased.was_regular) changed.make_regular();
    });
  }
  ++size_;
}

void ListValue::assign(Place place, const MaybeInteger& element) {
  blocks_.edit(place.block, [&](ListBlock& block) { block.assign(place.at, element); });
}

/// Moves the elements of the block from `at` on to a block of their own.
void ListValue::split(std::size_t block, std::size_t at) {
  blocks_.reserve(block + 1);
  blocks_.put_back(block + 1,
                   blocks_.edit(block, [at](ListBlock& whole) { return whole.take_from(at); }));
}

void ListValue::unsplit(std::size_t block) {
  const ListBlock taken = blocks_.take(block + 1);
  blocks_.edit(block, [&taken](ListBlock& whole) { whole.append(taken); });
}

ListValue::Taken ListValue::take(std::size_t first, std::size_t count) {
  Taken taken;
  Place begin = place_of(first);
  if (begin.at > 0) {
    split(begin.block, begin.at);
    taken.has_split_begin = true;
    begin = {.block = begin.block + 1, .at = 0};
  }
  taken.begin = begin.block;
  try {
    Place end = place_of(first + count);
    if (end.at > 0) {
      split(end.block, end.at);
      taken.has_split_end = true;
      end = {.block = end.block + 1, .at = 0};
    }
    taken.end = end.block;
    taken.blocks.resize(taken.end - taken.begin);
  } catch (...) {
    put_back(std::move(taken));  // only the split-off blocks
    throw;
  }
  blocks_.take(begin.block, taken.blocks);
  taken.size = count;
  size_ -= count;
  return taken;
}

void ListValue::put_back(Taken taken) {
  blocks_.put_back(taken.begin, taken.blocks);
  size_ += taken.size;
  if (taken.has_split_end) unsplit(taken.end - 1);
  if (taken.has_split_begin) unsplit(taken.begin - 1);
}

std::size_t ListValue::Taken::memory_bytes() const {
  std::size_t bytes = heap_bytes(blocks);
  for (const ListBlock& block : blocks) bytes += block.memory_bytes();
  return bytes;
}

void ListValue::reposition(std::size_t first, std::span<const ListPosition> positions) {
  const Place begin = place_of(first);
  const std::size_t last = place_of(first + positions.size() - 1).block;
  for (std::size_t block = begin.block; block <= last; ++block) {
    blocks_.edit(block, [](ListBlock& changed) { changed.prepare_repositioning(); });
  }
  std::size_t at = begin.at;
  for (std::size_t block = begin.block; block <= last; ++block, at = 0) {
    blocks_.edit(block, [&](ListBlock& changed) {
      for (; at < changed.size() && !positions.empty(); ++at) {
        changed.set_position(at, positions.front());
        positions = positions.subspan(1);
      }
      changed.make_regular_if_equal();
    });
  }
}

}  // namespace rushgate
