#include "engine/keyspace/memory_count.h"

namespace rushgate {

void MemoryCount::enter(Object& object) {
  const std::size_t bytes = object.memory_bytes();
  object.counted_bytes = bytes & Object::kCountedMask;
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
