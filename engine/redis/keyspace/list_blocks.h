// The blocks of a list, in order. A single block, as most lists have, needs nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/list_block.h"

namespace rushgate {

/// A vector of blocks with spare capacity at both ends.
///
/// A change that throws (out of memory) has no effect. Removed blocks are put back without memory.
class ListBlockVector {
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
      ListBlockVector& blocks;
      const ListBlock& block;
      std::size_t at;
    };
    ListBlock& block = blocks_[unused_ + at];
    block_bytes_ -= block.memory_bytes();
    const Counting counting{*this, block, at};
    return change(block);
  }

  /// Reserves memory: put_back() of a block before the one at `at` throws nothing then.
  void reserve(std::size_t at);
  /// Removes as many blocks from `at` on as `taken` holds.
  void take(std::size_t at, std::span<ListBlock> taken);
  void put_back(std::size_t at, std::span<ListBlock> taken);

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const {
    return !to_shrink_.front().empty() || has_much_room();
  }
  /// Shrinks the blocks that want to, and the capacity.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return block_bytes_ + heap_bytes(blocks_); }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  struct Range {
    [[nodiscard]] bool empty() const { return begin >= end; }
    void add(std::size_t at) {
      begin = empty() ? at : std::min(begin, at);
      end = empty() ? at + 1 : std::max(end, at + 1);
    }
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void note_to_shrink(std::size_t at);
  void note_inserted(std::size_t at, std::size_t count);
  void note_taken(std::size_t at, std::size_t count);
  void drop_unused();
  [[nodiscard]] bool has_much_room() const {
    constexpr std::size_t kMuch = 64;
    return blocks_.capacity() > 4 * size() + kMuch;
  }
  void shrink_room();

  std::vector<ListBlock> blocks_;
  std::size_t block_bytes_ = 0;       // their memory
  std::size_t unused_ = 0;            // in front
  std::array<Range, 2> to_shrink_{};  // blocks that want to shrink are in these ranges
};

/// As ListBlockVector, which it has for several blocks. None of them is empty.
class ListBlocks {
 public:
  [[nodiscard]] std::size_t size() const {
    if (several_ != nullptr) return several_->size();
    return only_.empty() ? 0 : 1;
  }
  [[nodiscard]] const ListBlock& operator[](std::size_t at) const {
    return several_ != nullptr ? (*several_)[at] : only_;
  }
  template <class Change>
  decltype(auto) edit(std::size_t at, Change change) {
    return several_ != nullptr ? several_->edit(at, change) : change(only_);
  }

  /// Inserts before the block at `at`.
  void insert(std::size_t at, ListBlock block) {
    reserve(at);
    put_back(at, std::move(block));
  }
  void reserve(std::size_t at);
  [[nodiscard]] ListBlock take(std::size_t at) {
    ListBlock taken;
    take(at, {&taken, 1});
    return taken;
  }
  void take(std::size_t at, std::span<ListBlock> taken);
  void put_back(std::size_t at, ListBlock block) { put_back(at, {&block, 1}); }
  void put_back(std::size_t at, std::span<ListBlock> taken);

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const {
    if (several_ == nullptr) return only_.wants_to_shrink();
    return several_->size() <= 1 || several_->wants_to_shrink();
  }
  /// Releases memory. Earlier changes can no longer be undone.
  void shrink();

  [[nodiscard]] std::size_t memory_bytes() const {
    if (several_ == nullptr) return only_.memory_bytes();
    return heap_block(sizeof(ListBlockVector)) + several_->memory_bytes();
  }
  [[nodiscard]] std::size_t measured_bytes() const {
    if (several_ == nullptr) return only_.memory_bytes();
    return heap_block(sizeof(ListBlockVector)) + several_->measured_bytes();
  }

 private:
  ListBlock only_;                            // empty if there are none or several
  std::unique_ptr<ListBlockVector> several_;  // null if there are not, nor were since shrink()
};

}  // namespace rushgate
