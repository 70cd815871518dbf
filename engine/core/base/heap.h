// Heap usage of strings and containers, as computed from their sizes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace rushgate {

/// The overhead of a block of glibc's malloc.
inline constexpr std::size_t kHeapBlockOwnBytes = 8;

/// Returns the bytes that glibc's malloc uses for a block of `bytes`: its overhead, rounded up to a
/// multiple of 16, at least 32. Returns 0 for 0 bytes.
constexpr std::size_t heap_block(std::size_t bytes) {
  constexpr std::size_t kGrain = 16;
  constexpr std::size_t kLeast = 32;
  return bytes == 0 ? 0
                    : std::max(kLeast, (bytes + kHeapBlockOwnBytes + kGrain - 1) / kGrain * kGrain);
}

/// Returns how many bytes a block of `bytes`, at least 1, has space for.
constexpr std::size_t heap_space(std::size_t bytes) {
  return heap_block(bytes) - kHeapBlockOwnBytes;
}

/// Returns the bytes on the heap that belong to the object, without the object itself.
inline std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? heap_block(text.capacity() + 1) : 0;
}
template <class Item>
std::size_t heap_bytes(const std::vector<Item>& items) {
  return heap_block(items.capacity() * sizeof(Item));
}

/// Returns the bytes of the nodes of a std::set or std::map with `size` elements. A node of
/// libstdc++ has a header of four words.
template <class Value>
constexpr std::size_t tree_bytes(std::size_t size) {
  constexpr std::size_t kOwnBytes = 4 * sizeof(void*);
  return size * heap_block(kOwnBytes +
                           (sizeof(Value) + alignof(void*) - 1) / alignof(void*) * alignof(void*));
}

}  // namespace rushgate
