#include "engine/keyspace/memory_count.h"

#include <algorithm>

namespace rushgate {

void MemoryCount::enter(Object& object) {
  // An object of more than 1 TiB counts as 1 TiB.
  const std::size_t bytes = std::min<std::size_t>(object.memory_bytes(), Object::kCountedBytesMax);
  object.counted_bytes = bytes & Object::kCountedBytesMax;
  bytes_ += bytes;
}

void MemoryCount::leave(Object& object) {
  bytes_ -= object.counted_bytes;
  object.counted_bytes = 0;
}

void MemoryCount::recount(Object& object) {
  if (!object.attached) return;
  leave(object);
  enter(object);
}

void MemoryCount::recount_noted() {
  for (Object* const object : noted_) {
    object->is_noted = false;
    recount(*object);
  }
  noted_.clear();
}

}  // namespace rushgate
