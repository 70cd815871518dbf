// The positions of a block's elements, as stored in the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/heap.h"

namespace rushgate {

/// Ascends from head to tail. It is part of the key of an element's record, and stays the same
/// while elements around it change (except in lists.cc: make_space()).
using ListPosition = std::uint64_t;

/// The distance between consecutively pushed elements. It leaves space for insertions between
/// them.
inline constexpr ListPosition kListStep = ListPosition{1} << 24;

/// Positions of neighbouring elements. While the distances are equal, only the first is stored.
class ListPositions {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] ListPosition operator[](std::size_t at) const {
    return is_regular() ? first_ + at * kListStep : each_[at];
  }
  [[nodiscard]] ListPosition back() const { return (*this)[size_ - 1]; }
  /// Returns the index of the first position not below `position`, or size().
  [[nodiscard]] std::size_t lower_bound(ListPosition position) const;

  // A change that throws (out of memory) has no effect. Changes release no memory.

  void insert(std::size_t at, ListPosition position);
  /// Reserves memory: the same insert() throws nothing then.
  void prepare_insert(std::size_t at, ListPosition position);
  void erase(std::size_t at);
  /// Reserves memory: assign() throws nothing then.
  void prepare_assign() { each_.reserve(size_ + 1); }
  /// Changes the position of an element. The order may be wrong until the neighbours are changed,
  /// too; make_regular_if_equal() must follow.
  void assign(std::size_t at, ListPosition position);
  void make_regular_if_equal();
  /// Splits off those from `at` on.
  ListPositions take_from(std::size_t at);
  /// Undoes take_from().
  void append(const ListPositions& taken);

  /// Returns true if the positions are known to have equal distances.
  [[nodiscard]] bool is_regular() const { return each_.empty(); }
  /// Restores equal distances, when a change is undone before which they existed.
  void make_regular();
  /// Releases unused memory.
  void shrink() { each_.shrink_to_fit(); }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return heap_bytes(each_); }

 private:
  [[nodiscard]] bool continues(std::size_t at, ListPosition position) const;
  void spell_out();

  ListPosition first_ = 0;
  std::vector<ListPosition> each_;  // empty if the distances are equal
  std::size_t size_ = 0;
};

}  // namespace rushgate
