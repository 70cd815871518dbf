// The members of a small set of integers, in one block of memory in ascending order:
//
//   [capacity: 4 bytes][members: 4][members: 8 bytes each]
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "engine/core/base/heap.h"

namespace rushgate {

/// Not thread-safe. A change that throws (out of memory) has no effect. Only shrink() releases
/// memory, so an erased member is inserted again without memory.
class PackedIntegers {
 public:
  PackedIntegers() = default;
  PackedIntegers(PackedIntegers&&) noexcept = default;
  PackedIntegers& operator=(PackedIntegers&&) noexcept = default;
  PackedIntegers(const PackedIntegers& other) { append_all(other.members()); }
  PackedIntegers& operator=(const PackedIntegers&) = delete;
  ~PackedIntegers() = default;

  [[nodiscard]] std::size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Returns the members in ascending order.
  [[nodiscard]] std::span<const std::int64_t> members() const {
    return block_ == nullptr ? std::span<const std::int64_t>() : std::span(first(), block_->size);
  }
  [[nodiscard]] bool contains(std::int64_t member) const;

  /// Returns false if it was a member.
  bool insert(std::int64_t member);
  /// Returns false if it was not a member.
  bool erase(std::int64_t member);

  /// Returns true if shrink() would release memory.
  [[nodiscard]] bool wants_to_shrink() const;
  /// Releases unused memory, if there is memory for the copy. Earlier changes can no longer be
  /// undone.
  void shrink();

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    return block_ == nullptr ? 0 : heap_block(block_bytes(block_->capacity));
  }

 private:
  struct Header {
    std::uint32_t capacity;
    std::uint32_t size;
  };
  struct Deleter {
    void operator()(Header* block) const { ::operator delete(block); }
  };
  using Block = std::unique_ptr<Header, Deleter>;

  static constexpr std::size_t block_bytes(std::size_t capacity) {
    return sizeof(Header) + capacity * sizeof(std::int64_t);
  }
  [[nodiscard]] std::int64_t* first() const {
    return std::launder(reinterpret_cast<std::int64_t*>(block_.get() + 1));
  }
  /// Returns the index of the first member that is not below `member`.
  [[nodiscard]] std::size_t lower_bound(std::int64_t member) const;

  static Block make_block(std::size_t capacity_wanted);
  void move_to_block(std::size_t capacity_wanted);
  void append_all(std::span<const std::int64_t> members);

  Block block_;
};

}  // namespace rushgate
