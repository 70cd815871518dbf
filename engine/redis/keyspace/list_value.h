// A list: a sequence of blocks of a few kilobytes, with about three bytes of overhead per element.
// A push or pop changes a block at an end. Finding an index counts the elements of the blocks from
// the nearer end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/list_blocks.h"
#include "engine/redis/keyspace/list_positions.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

/// A data structure: durable changes go through lists.h. Each element has a position
/// (ListPosition), which ascends from head to tail.
class ListValue {
 public:
  /// A place in the sequence; valid until the list changes.
  struct Place {
    std::size_t block;
    std::size_t at;  // in the block

    friend bool operator==(const Place&, const Place&) = default;
  };

  [[nodiscard]] std::size_t size() const { return size_; }

  // ---- Places ----
  [[nodiscard]] Place begin() const { return {0, 0}; }
  [[nodiscard]] Place end() const { return {blocks_.size(), 0}; }  // after the last element
  [[nodiscard]] Place next(Place place) const { return normal({place.block, place.at + 1}); }
  /// Returns the place, or the beginning of the next block if it is after the last element of its
  /// own. For an erased element, returns the place of its successor.
  [[nodiscard]] Place normal(Place place) const {
    const bool is_over = place.block < blocks_.size() && place.at == blocks_[place.block].size();
    return is_over ? Place{place.block + 1, 0} : place;
  }
  [[nodiscard]] Place previous(Place place) const {
    if (place.at > 0) return {place.block, place.at - 1};
    return {place.block - 1, blocks_[place.block - 1].size() - 1};
  }
  /// Returns the place of the element at `index`, or end().
  [[nodiscard]] Place place_of(std::size_t index) const;

  // ---- The element at a place ----
  [[nodiscard]] std::string element(Place place) const { return blocks_[place.block][place.at]; }
  [[nodiscard]] bool equals(Place place, const MaybeInteger& element) const {
    return blocks_[place.block].equals(place.at, element);
  }
  [[nodiscard]] ListPosition position(Place place) const {
    return blocks_[place.block].position(place.at);
  }
  /// Calls visit(ListPosition, std::string element) for `count` elements from `first` on.
  template <class Visit>
  void for_each(std::size_t first, std::size_t count, Visit visit) const {
    for (Place place = place_of(first); count > 0; --count, place = next(place)) {
      visit(position(place), element(place));
    }
  }

  // ---- Changes. The caller chooses positions. A change that throws (out of memory) has no effect.
  // Undoing changes needs no memory: the newest first, and before shrink(). The same blocks hold
  // the same elements afterwards ----

  /// The data to undo an insert().
  struct Inserted {
    Place place;
    Place split{};  // the block that was split for it, and the place
    bool has_split = false;
    bool is_alone = false;     // in a block of its own
    bool was_regular = false;  // its block's positions had equal distances
  };
  /// Inserts before the element at `place`.
  Inserted insert(Place place, ListPosition position, const MaybeInteger& element);
  void roll_back(const Inserted& inserted);

  /// The data to undo an erase().
  struct Erased {
    Place place;
    ListPosition position;
    std::string element;               // if its block had other elements
    std::unique_ptr<ListBlock> block;  // if its block had no other elements
    bool was_regular;
  };
  Erased erase(Place place);
  void roll_back(Erased erased);

  /// Returns true if the element at `place` can be replaced in its block. Otherwise it must be
  /// erased, and the new one inserted.
  [[nodiscard]] bool has_space_for(Place place, const MaybeInteger& element) const {
    const ListBlock& block = blocks_[place.block];
    return block.size() == 1 || block.has_space_for(element);
  }
  /// Replaces an element, if there is space. The old one can be assigned again without memory.
  void assign(Place place, const MaybeInteger& element);

  /// The elements removed by take(), in blocks of their own.
  struct Taken {
    std::vector<ListBlock> blocks;
    std::size_t begin = 0;  // their old place
    std::size_t end = 0;
    std::size_t size = 0;  // elements
    bool has_split_begin = false;
    bool has_split_end = false;

    /// Returns the memory on the heap.
    [[nodiscard]] std::size_t memory_bytes() const;
  };
  /// Removes `count` elements from the one at `first` on.
  Taken take(std::size_t first, std::size_t count);
  void put_back(Taken taken);

  /// Assigns new positions to the elements from `first` on. The old ones can be restored without
  /// memory.
  void reposition(std::size_t first, std::span<const ListPosition> positions);

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const { return blocks_.wants_to_shrink(); }
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink() { blocks_.shrink(); }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }
  [[nodiscard]] std::size_t measured_bytes() const { return blocks_.measured_bytes(); }

 private:
  void insert_into(Place place, ListPosition position, const MaybeInteger& element, Inserted& done);
  void insert_between(std::size_t block, ListPosition position, const MaybeInteger& element,
                      Inserted& done);
  void split(std::size_t block, std::size_t at);
  void unsplit(std::size_t block);

  ListBlocks blocks_;  // never empty
  std::size_t size_ = 0;
};

}  // namespace rushgate
