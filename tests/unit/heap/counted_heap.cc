#include "tests/unit/heap/counted_heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/core/base/heap.h"

namespace {

std::atomic<std::size_t> held{0};

// Sanitizers report the requested size, the C library the size of the block. The result is the same
// for both.
std::size_t taken_by(void* block) { return rushgate::heap_block(::malloc_usable_size(block)); }

void* allocate(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  held += taken_by(block);
  return block;
}

void release(void* block) {
  if (block != nullptr) held -= taken_by(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }

namespace rushgate {

std::size_t heap_bytes_held() { return held; }

}  // namespace rushgate
