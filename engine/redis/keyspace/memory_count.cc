#include "engine/redis/keyspace/memory_count.h"

#include <algorithm>

namespace rushgate {

void MemoryCount::enter(Object& object) {
  bytes_ += object.own_bytes();
  count_value(object);
}

void MemoryCount::leave(Object& object) {
  bytes_ -= object.own_bytes() + object.counted_bytes;
  object.counted_bytes = 0;
}

void MemoryCount::recount(Object& object) {
  if (object.attached) count_value(object);
}

/// Counts the change of the value since it was last counted.
void MemoryCount::count_value(Object& object) {
  // A value of more than 1 TiB counts as 1 TiB.
  const std::size_t bytes = std::min<std::size_t>(object.value_bytes(), Object::kCountedBytesMax);
  bytes_ += bytes - object.counted_bytes;
  object.counted_bytes = bytes & Object::kCountedBytesMax;
}

void MemoryCount::recount_noted() {
  for (Object* const object : noted_) {
    object->is_noted = false;
    recount(*object);
  }
  noted_.clear();
}

}  // namespace rushgate
