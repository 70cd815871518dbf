// A list: a sequence of blocks of some kilobytes. About three bytes an element beside its own.
// Pushing and popping touch a block at an end; finding an index counts the elements of the blocks
// on the way from the nearer end.
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
#include "engine/base/scalar.h"
#include "engine/keyspace/list_block.h"
#include "engine/keyspace/list_positions.h"

namespace rushgate {

/// The blocks of a list, in order: a vector that has room at both ends.
class ListBlocks {
 public:
  [[nodiscard]] std::size_t size() const { return blocks_.size() - unused_; }
  [[nodiscard]] const ListBlock& operator[](std::size_t at) const { return blocks_[unused_ + at]; }

  /// change(ListBlock&) of the one at `at`.
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

  // A change that throws, for want of memory, has changed nothing. What was taken out is put back
  // without memory.

  /// Before the one at `at`.
  void insert(std::size_t at, ListBlock block) {
    reserve(at);
    put_back(at, std::move(block));
  }
  /// Makes room for one before the one at `at`: put_back() of it throws nothing then.
  void reserve(std::size_t at);
  /// Takes out the one at `at`; or those from there on, as many as `taken` holds.
  ListBlock take(std::size_t at);
  void take(std::size_t at, std::span<ListBlock> taken);
  void put_back(std::size_t at, ListBlock block);
  void put_back(std::size_t at, std::span<ListBlock> taken);

  /// Does any block want to shrink?
  [[nodiscard]] bool wants_to_shrink() const { return shrink_begin_ < shrink_end_; }
  /// Shrinks those that want to.
  void shrink();

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const { return block_bytes_ + heap_bytes(blocks_); }
  /// The same, told from what there is instead of what was counted: for tests.
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
  std::size_t block_bytes_ = 0;       // what they hold
  std::size_t unused_ = 0;            // in front
  std::size_t shrink_begin_ = kNone;  // those that want to shrink are between these
  std::size_t shrink_end_ = 0;
};

/// A data structure: durable changes go through lists.h. Each element has a position
/// (ListPosition), which ascends from head to tail.
class ListValue {
 public:
  /// A place in the sequence; valid until the list is changed.
  struct Place {
    std::size_t block;
    std::size_t at;  // in the block

    friend bool operator==(const Place&, const Place&) = default;
  };

  [[nodiscard]] std::size_t size() const { return size_; }

  // ---- Places ----
  [[nodiscard]] Place begin() const { return {0, 0}; }
  [[nodiscard]] Place end() const { return {blocks_.size(), 0}; }  // behind the last element
  [[nodiscard]] Place next(Place place) const { return normal({place.block, place.at + 1}); }
  /// The place itself, or where the next block begins if it is behind the last element of its own.
  /// Of an erased element: that of the element which followed.
  [[nodiscard]] Place normal(Place place) const {
    const bool is_over = place.block < blocks_.size() && place.at == blocks_[place.block].size();
    return is_over ? Place{place.block + 1, 0} : place;
  }
  [[nodiscard]] Place previous(Place place) const {
    if (place.at > 0) return {place.block, place.at - 1};
    return {place.block - 1, blocks_[place.block - 1].size() - 1};
  }
  /// Of the element at `index`, or end().
  [[nodiscard]] Place place_of(std::size_t index) const;
  /// Of the first element that is not below `position`.
  [[nodiscard]] Place lower_bound(ListPosition position) const;

  // ---- The element at a place ----
  [[nodiscard]] std::string element(Place place) const { return blocks_[place.block][place.at]; }
  [[nodiscard]] bool equals(Place place, const Scalar& element) const {
    return blocks_[place.block].equals(place.at, element);
  }
  [[nodiscard]] ListPosition position(Place place) const {
    return blocks_[place.block].positions()[place.at];
  }
  /// visit(ListPosition, std::string element), for `count` elements from the one at `first` on.
  template <class Visit>
  void for_each(std::size_t first, std::size_t count, Visit visit) const {
    for (Place place = place_of(first); count > 0; --count, place = next(place)) {
      visit(position(place), element(place));
    }
  }

  // ---- Changes: positions are the caller's business. One that throws, for want of memory, has
  // changed nothing. Taking one back needs no memory: the newest first, and before settle(). Then
  // the same blocks hold the same elements as before ----

  /// What takes back an insert().
  struct Inserted {
    Place place;
    Place split{};  // the block that was split for it, and where
    bool has_split = false;
    bool is_alone = false;     // in a block of its own
    bool was_regular = false;  // its block's positions
  };
  /// Before the element at `place`.
  Inserted insert(Place place, ListPosition position, const Scalar& element);
  void take_back(const Inserted& inserted);

  /// What takes back an erase().
  struct Erased {
    Place place;
    ListPosition position;
    std::string element;               // if it was not alone in its block
    std::unique_ptr<ListBlock> block;  // if it was
    bool was_regular;
  };
  Erased erase(Place place);
  void take_back(Erased erased);

  /// May the element at `place` be replaced by this one in its block? (Else it is to be erased, and
  /// the other inserted.)
  [[nodiscard]] bool has_room_for(Place place, const Scalar& element) const {
    const ListBlock& block = blocks_[place.block];
    return block.size() == 1 || block.has_room_for(element);
  }
  /// Where there is room. The element that was there can be assigned again without memory.
  void assign(Place place, const Scalar& element);

  /// What take() took out, in blocks of their own.
  struct Taken {
    std::vector<ListBlock> blocks;
    std::size_t begin = 0;  // where they stood
    std::size_t end = 0;
    std::size_t size = 0;  // elements
    bool has_split_begin = false;
    bool has_split_end = false;

    /// Bytes held beside itself.
    [[nodiscard]] std::size_t memory_bytes() const;
  };
  /// Takes `count` elements out, from the one at `first` on.
  Taken take(std::size_t first, std::size_t count);
  void put_back(Taken taken);

  /// Gives the elements from the one at `first` on other positions. Their old ones can be given
  /// back without memory.
  void reposition(std::size_t first, std::span<const ListPosition> positions);

  /// Is there memory to be given back by settle()?
  [[nodiscard]] bool wants_to_settle() const { return blocks_.wants_to_shrink(); }
  /// Nothing will be taken back that was done before.
  void settle() { blocks_.shrink(); }

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }
  [[nodiscard]] std::size_t measured_bytes() const { return blocks_.measured_bytes(); }

 private:
  void insert_into(Place place, ListPosition position, const Scalar& element, Inserted& done);
  void insert_between(std::size_t block, ListPosition position, const Scalar& element,
                      Inserted& done);
  void split(std::size_t block, std::size_t at);
  void unsplit(std::size_t block);

  ListBlocks blocks_;  // none is empty
  std::size_t size_ = 0;
};

}  // namespace rushgate
