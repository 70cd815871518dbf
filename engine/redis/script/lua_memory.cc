#include "engine/redis/script/lua_memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace rushgate {

LuaMemory::~LuaMemory() {
  for (Kept* block : kept_) {
    while (block != nullptr) std::free(std::exchange(block, block->next));
  }
}

void* LuaMemory::take(std::size_t size) noexcept {
  const std::size_t count = units(size);
  if (count > kSmallUnitsMax) return std::malloc(size);
  Kept* const block = kept_[count];
  if (block == nullptr) return std::malloc(count * kUnit);
  kept_[count] = block->next;
  kept_bytes_ -= count * kUnit;
  return block;
}

void LuaMemory::give_back(void* block, std::size_t size) noexcept {
  if (block == nullptr) return;
  const std::size_t count = units(size);
  if (count > kSmallUnitsMax || kept_bytes_ >= kKeptBytesMax) return std::free(block);
  kept_[count] = new (block) Kept{kept_[count]};
  kept_bytes_ += count * kUnit;
}

void* LuaMemory::move(void* block, std::size_t old_size, std::size_t new_size) noexcept {
  const std::size_t old_units = units(old_size);
  const std::size_t new_units = units(new_size);
  if (old_units > kSmallUnitsMax && new_units > kSmallUnitsMax) {
    return std::realloc(block, new_size);
  }
  if (old_units == new_units) return block;
  void* const moved = take(new_size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(old_size, new_size));
  give_back(block, old_size);
  return moved;
}

void* LuaMemory::resize(void* block, std::size_t old_size, std::size_t new_size) noexcept {
  if (new_size == 0) {
    give_back(block, old_size);
    count(old_size, 0);
    return nullptr;
  }
  const bool grows = new_size > old_size;
  if (grows && limited_ && new_size - old_size > room()) {
    refused_ = true;
    return nullptr;
  }
  void* const result = block == nullptr ? take(new_size) : move(block, old_size, new_size);
  if (result == nullptr) return grows ? nullptr : block;  // Lua relies on it that shrinking works
  count(old_size, new_size);
  return result;
}

}  // namespace rushgate
