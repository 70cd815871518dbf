// A list: a sequence of blocks of a few kilobytes, with about three bytes of overhead per element.
// A push or pop changes a block at an end. Finding an index counts the elements of the blocks from
// the nearer end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/heap.h"
#include "engine/keyspace/list_block.h"
#include "engine/keyspace/list_positions.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

/// The blocks of a list, in order: a vector with spare capacity at both ends.
class ListBlocks {
 public:
  [[nodiscard]] std::size_t size() const { return blocks_.size() - unused_; }
  [[nodiscard]] const ListBlock& operator[](std::size_t at) const { return blocks_[unused_ + at]; }

  /// Calls change(ListBlock&) for the block at `at`.
  template <class Change>
  decltype(auto) edit(std::size_t at, Change change) {
    struct Counting {  // even if it throws
      ~Counting() {
        blocks.block_bytes_ += block.memory_bytes();
        if (block.wants_to_shrink()) blocks.note_to_shrink(at);
      }
      ListBlocks& blocks;
      const ListBlock& block;
      std::size_t at;
    };
    ListBlock& block = blocks_[unused_ + at];
    block_bytes_ -= block.memory_bytes();
    const Counting counting{*this, block, at};
    return change(block);
  }

  // A change that throws (out of memory) has no effect. Removed blocks are put back without
  // memory.

  /// Inserts before the block at `at`.
  void insert(std::size_t at, ListBlock block) {
    reserve(at);
    put_back(at, std::move(block));
  }
  /// Reserves memory: put_back() of a block before the one at `at` throws nothing then.
  void reserve(std::size_t at);
  /// Removes the block at `at`; or as many from there on as `taken` holds.
  ListBlock take(std::size_t at);
  void take(std::size_t at, std::span<ListBlock> taken);
  void put_back(std::size_t at, ListBlock block);
  void put_back(std::size_t at, std::span<ListBlock> taken);

  /// Returns true if a block wants to shrink.
  [[nodiscard]] bool wants_to_shrink() const { return shrink_begin_ < shrink_end_; }
  /// Shrinks the blocks that want to.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return block_bytes_ + heap_bytes(blocks_); }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  void note_to_shrink(std::size_t at) {
    shrink_end_ = std::max(shrink_end_, at + 1);
    shrink_begin_ = std::min(shrink_begin_, at);
  }
  void note_inserted(std::size_t at, std::size_t count);
  void note_taken(std::size_t at, std::size_t count);
  void drop_unused();

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::vector<ListBlock> blocks_;
  std::size_t block_bytes_ = 0;       // their memory
  std::size_t unused_ = 0;            // in front
  std::size_t shrink_begin_ = kNone;  // blocks that want to shrink are between these
  std::size_t shrink_end_ = 0;
};

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
  /// Returns the place of the first element not below `position`.
  [[nodiscard]] Place lower_bound(ListPosition position) const;

  // ---- The element at a place ----
  [[nodiscard]] std::string element(Place place) const { return blocks_[place.block][place.at]; }
  [[nodiscard]] bool equals(Place place, const MaybeInteger& element) const {
    return blocks_[place.block].equals(place.at, element);
  }
  [[nodiscard]] ListPosition position(Place place) const {
    return blocks_[place.block].positions()[place.at];
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
