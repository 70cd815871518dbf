// A list: a sequence of blocks of some kilobytes. About three bytes an element beside its own.
// Pushing and popping touch a block at an end; finding an index counts the elements of the blocks
// on the way from the nearer end.
#pragma once

#include <cstddef>
#include <cstdint>
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
      ~Counting() { bytes += block.memory_bytes(); }
      std::size_t& bytes;
      const ListBlock& block;
    };
    ListBlock& block = blocks_[unused_ + at];
    block_bytes_ -= block.memory_bytes();
    const Counting counting{block_bytes_, block};
    return change(block);
  }
  /// Before the one at `at`.
  void insert(std::size_t at, ListBlock block);
  void insert(std::size_t at, std::vector<ListBlock> blocks);
  /// Takes `count` out, from the one at `at` on.
  std::vector<ListBlock> take(std::size_t at, std::size_t count);

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const { return block_bytes_ + heap_bytes(blocks_); }
  /// The same, told from what there is instead of what was counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  std::vector<ListBlock> blocks_;
  std::size_t block_bytes_ = 0;  // what they hold
  std::size_t unused_ = 0;       // in front
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

  // ---- Changes: positions are the caller's business ----
  /// Before the element at `place`.
  void insert(Place place, ListPosition position, const Scalar& element);
  void assign(Place place, const Scalar& element);
  /// Where what followed stands then.
  Place erase(Place place);
  /// Takes `count` elements out, from the one at `first` on.
  ListValue take(std::size_t first, std::size_t count);
  /// Before the element at `first`.
  void put_back(std::size_t first, ListValue taken);
  /// Gives the elements from the one at `first` on other positions.
  void reposition(std::size_t first, std::span<const ListPosition> positions);

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.memory_bytes(); }
  [[nodiscard]] std::size_t measured_bytes() const { return blocks_.measured_bytes(); }

 private:
  [[nodiscard]] Place normal(Place place) const {
    const bool is_over = place.block < blocks_.size() && place.at == blocks_[place.block].size();
    return is_over ? Place{place.block + 1, 0} : place;
  }
  void insert_into(std::size_t block, std::size_t at, ListPosition position, const Scalar& element);
  void split_block(std::size_t block, std::size_t at);
  std::size_t split(std::size_t index);
  [[nodiscard]] std::pair<std::size_t, std::size_t> whole_blocks(std::size_t first,
                                                                 std::size_t count) const;
  void insert_between(std::size_t block, ListPosition position, const Scalar& element);

  ListBlocks blocks_;  // none is empty
  std::size_t size_ = 0;
};

}  // namespace rushgate
