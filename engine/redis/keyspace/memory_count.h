// The memory of the keyspace, counted continuously, so that reading it costs nothing.
//
// Every value reports its own memory without computation (memory_bytes()). A changed object is
// noted and counted again before the next read, so a thousand changes of it cost as much as
// one. Keys, values and their tables count, with the allocator's overhead per block. Stream
// caches (stream_cache.h) and the data of the current commit batch (undo steps, records) do not
// count.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/redis/keyspace/object.h"

namespace rushgate {

/// Not thread-safe: it belongs to the thread that holds the turn.
class MemoryCount {
 public:
  [[nodiscard]] std::size_t bytes() {
    count_noted();
    return bytes_;
  }

  /// Called before an object's value changes. The object must be alive at the next count_noted() or
  /// bytes().
  void note(Object& object) {
    if (object.is_noted) return;
    noted_.push_back(&object);
    object.is_noted = true;
  }
  /// Counts all noted objects.
  void count_noted() {
    if (!noted_.empty()) recount_noted();
  }
  /// Counts the object at once. Does nothing if it is in no table.
  void recount(Object& object);

  /// The object entered a table, or leaves it. Its key must stay the same in between. Objects owned
  /// by undo steps do not count.
  void enter(Object& object);
  void leave(Object& object);
  /// Counts a change of other memory from `before` to `after` bytes.
  void change(std::size_t before, std::size_t after) { bytes_ += after - before; }

 private:
  void count_value(Object& object);
  void recount_noted();

  std::size_t bytes_ = 0;
  std::vector<Object*> noted_;  // each once (Object::is_noted)
};

}  // namespace rushgate
