// How many bytes the keyspace holds: kept at all times, so that to ask costs nothing.
//
// Every value tells its own bytes at once (memory_bytes()), as it keeps count where it allocates.
// An object that is changed is noted, and counted anew before anybody asks: a thousand changes to
// one cost as much as one. What is counted are keys, values and the tables they stand in, with what
// the allocator adds to each block. What is not: what streams cache (stream_cache.h), and what a
// group holds until its commit (undo steps, records).
#pragma once

#include <cstddef>
#include <vector>

#include "engine/keyspace/object.h"

namespace rushgate {

/// Not thread-safe: it belongs to whoever has the turn.
class MemoryCount {
 public:
  [[nodiscard]] std::size_t bytes() {
    settle();
    return bytes_;
  }

  /// The object's value is about to change. It must be alive when settle() or bytes() is called
  /// next.
  void note(Object& object) {
    if (object.is_noted) return;
    noted_.push_back(&object);
    object.is_noted = true;
  }
  /// Counts all that were noted.
  void settle() {
    if (!noted_.empty()) recount_noted();
  }
  /// Counts the object at once. No effect on one that is in no table.
  void recount(Object& object);

  /// The object came into a table, or left it: one that is held by an undo step does not count.
  void enter(Object& object);
  void leave(Object& object);
  /// Something that is no object took `before` bytes, and now takes `after`.
  void change(std::size_t before, std::size_t after) { bytes_ += after - before; }

 private:
  void recount_noted();

  std::size_t bytes_ = 0;
  std::vector<Object*> noted_;  // each once (Object::is_noted)
};

}  // namespace rushgate
