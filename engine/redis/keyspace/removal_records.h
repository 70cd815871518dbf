// Records that remove objects from the store. A range costs a store as much as dozens of keys. So a
// few records are removed one by one, by keys known from memory, and many by a range. Objects with
// neighbouring ids share one range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/redis/keyspace/object.h"

namespace rushgate {

class StoreBatch;

/// Up to this number, records of one kind are removed one by one.
inline constexpr std::size_t kSingleRemovalsMax = 64;

/// Removes every record of the object except its header.
void remove_elements(StoreBatch& batch, const Object& object);

/// Removes many objects at once.
class MassRemoval {
 public:
  /// `is_all`: the keyspace holds only the objects that will be added.
  explicit MassRemoval(bool is_all) : is_all_(is_all) {}

  /// The object must not change before record().
  void add(const Object& object);
  void record(StoreBatch& batch);

  struct Entry {
    std::uint64_t id;
    const Object* object;
  };

 private:
  const bool is_all_;
  std::vector<Entry> objects_;
};

}  // namespace rushgate
