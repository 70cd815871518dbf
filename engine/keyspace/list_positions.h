// Where the elements of a block stand in their list, as the store knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/heap.h"

namespace rushgate {

/// Ascends from the head of a list to its tail. It is part of the key of an element's record, and
/// stays while elements come and go around it (but for lists.cc: make_room()).
using ListPosition = std::uint64_t;

/// How far apart elements stand that were pushed one after the other: room for those that are
/// inserted between them.
inline constexpr ListPosition kListStep = ListPosition{1} << 24;

/// Of neighbours in a list. As long as they are a step apart, only the first is kept.
class ListPositions {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] ListPosition operator[](std::size_t at) const {
    return is_regular() ? first_ + at * kListStep : each_[at];
  }
  [[nodiscard]] ListPosition back() const { return (*this)[size_ - 1]; }
  /// The first that is not below `position`, or size().
  [[nodiscard]] std::size_t lower_bound(ListPosition position) const;

  // A change that throws, for want of memory, has changed nothing. None gives memory back.

  void insert(std::size_t at, ListPosition position);
  /// Makes room: insert() of the same throws nothing then.
  void prepare_insert(std::size_t at, ListPosition position);
  void erase(std::size_t at);
  /// Makes room: assign() throws nothing then.
  void prepare_assign() { each_.reserve(size_ + 1); }
  /// Gives an element another one, which may be out of order until its neighbours have theirs:
  /// settle() is to be called then.
  void assign(std::size_t at, ListPosition position);
  void settle();
  /// Splits off those from `at` on.
  ListPositions take_from(std::size_t at);
  /// Takes back a take_from().
  void append(const ListPositions& taken);

  /// Are they known to be a step apart?
  [[nodiscard]] bool is_regular() const { return each_.empty(); }
  /// They are so again: a change is taken back, before which they were.
  void make_regular();
  /// Gives back the memory that is not needed.
  void shrink() { each_.shrink_to_fit(); }

  /// Bytes held beside itself.
  [[nodiscard]] std::size_t memory_bytes() const { return heap_bytes(each_); }

 private:
  [[nodiscard]] bool continues(std::size_t at, ListPosition position) const;
  void spell_out();

  ListPosition first_ = 0;
  std::vector<ListPosition> each_;  // empty if they are a step apart
  std::size_t size_ = 0;
};

}  // namespace rushgate
