// The records by which removed objects leave the store. To a store a removed range costs as much as
// dozens of removed keys. So a few records are removed one by one, by keys that the objects in
// memory tell, and many by a range; those of objects with neighbouring ids share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/keyspace/object.h"

namespace rushgate {

class StoreBatch;

/// Up to so many records of one kind are removed one by one.
inline constexpr std::size_t kSingleRemovalsMax = 64;

/// Removes every record of the object but its header.
void remove_elements(StoreBatch& batch, const Object& object);

/// The same for many objects at once.
class MassRemoval {
 public:
  /// `is_all`: the keyspace holds no object but those that will be added.
  explicit MassRemoval(bool is_all) : is_all_(is_all) {}

  /// The object must stay as it is until record().
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
