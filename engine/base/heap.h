// What things take of the heap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace rushgate {

/// What a block of so many bytes takes as glibc's malloc lays it out: eight bytes of its own, all
/// rounded up to sixteen, at least 32. None takes nothing.
constexpr std::size_t heap_block(std::size_t bytes) {
  constexpr std::size_t kOwn = 8;
  constexpr std::size_t kGrain = 16;
  constexpr std::size_t kLeast = 32;
  return bytes == 0 ? 0 : std::max(kLeast, (bytes + kOwn + kGrain - 1) / kGrain * kGrain);
}

/// What it holds beside itself.
inline std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? heap_block(text.capacity() + 1) : 0;
}
template <class Item>
std::size_t heap_bytes(const std::vector<Item>& items) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): items may be pointers
  return heap_block(items.capacity() * sizeof(Item));
}

/// The nodes of a std::set or std::map with so many elements: libstdc++'s have four words of their
/// own.
template <class Value>
constexpr std::size_t tree_bytes(std::size_t size) {
  constexpr std::size_t kOwnBytes = 4 * sizeof(void*);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers
  return size * heap_block(kOwnBytes +
                           (sizeof(Value) + alignof(void*) - 1) / alignof(void*) * alignof(void*));
}

/// The nodes of one of Abseil's B-trees with so many elements: about, as they are not all as full.
template <class Slot>
constexpr std::size_t btree_bytes(std::size_t size) {
  constexpr std::size_t kNodeBytes = 256;
  constexpr std::size_t kHeaderBytes = 16;
  constexpr std::size_t kSlotBytes = sizeof(Slot);  // NOLINT(bugprone-sizeof-expression): as above
  constexpr std::size_t kSlots = std::max((kNodeBytes - kHeaderBytes) / kSlotBytes, std::size_t{3});
  if (size == 0) return 0;
  if (size <= kSlots) {  // the only one grows with them
    return heap_block(kHeaderBytes + std::min(std::bit_ceil(size), kSlots) * kSlotBytes);
  }
  // Those that are filled in order are full, others less so; and there are some above the leaves.
  return size * heap_block(kHeaderBytes + kSlots * kSlotBytes) * 5 / (4 * kSlots);
}

}  // namespace rushgate
