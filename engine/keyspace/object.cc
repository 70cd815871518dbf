#include "engine/keyspace/object.h"

#include <type_traits>

#include "engine/base/heap.h"

namespace rushgate {

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::kString:
      return "string";
    case ValueType::kHash:
      return "hash";
    case ValueType::kSet:
      return "set";
    case ValueType::kStream:
      return "stream";
    case ValueType::kList:
      return "list";
    case ValueType::kSortedSet:
      return "zset";
  }
  return "none";
}

namespace {

/// Returns `bytes(value)` plus the memory of the object around it.
template <class Bytes>
std::size_t bytes_of(const Object& object, Bytes bytes) {
  const std::size_t value = std::visit(
      [&]<class Kept>(const Kept& kept) {
        if constexpr (std::is_same_v<Kept, std::unique_ptr<Stream>>) {
          return heap_block(sizeof(Stream)) + bytes(*kept);
        } else {
          return bytes(kept);
        }
      },
      object.value);
  return heap_block(sizeof(Object)) + heap_bytes(object.key) + value;
}

}  // namespace

std::size_t Object::memory_bytes() const {
  return bytes_of(*this, [](const auto& kept) { return kept.memory_bytes(); });
}

std::size_t Object::measured_bytes() const {
  return bytes_of(*this, [](const auto& kept) { return kept.measured_bytes(); });
}

}  // namespace rushgate
