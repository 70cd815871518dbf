#include "engine/redis/keyspace/object.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/core/base/heap.h"

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

// ---- The block of memory ----

template <class Visit>
decltype(auto) Object::visit_value(Visit visit) {
  switch (type()) {
    case ValueType::kString:
      break;
    case ValueType::kHash:
      return visit(hash());
    case ValueType::kSet:
      return visit(set());
    case ValueType::kStream:
      return visit(value<std::unique_ptr<Stream>>(ValueType::kStream));
    case ValueType::kList:
      return visit(list());
    case ValueType::kSortedSet:
      return visit(sorted_set());
  }
  return visit(string());
}

std::unique_ptr<Object> Object::make(std::string_view key, Value value) {
  static_assert(std::is_nothrow_move_constructible_v<Value>);
  static_assert(sizeof(Object) + sizeof(Value) <= std::numeric_limits<std::uint8_t>::max());
  static_assert(alignof(Value) == kWordBytes);
  const bool is_apart = key.size() > kKeyBytesMax;
  auto apart = is_apart ? std::make_unique<std::string>(key) : nullptr;
  const std::size_t inside = is_apart ? kKeyBytesMin : std::max(key.size(), kKeyBytesMin);
  // The allocator's blocks have whole words anyway.
  const std::size_t key_bytes = (inside + kWordBytes - 1) / kWordBytes * kWordBytes;
  return std::visit(
      [&]<class Kept>(Kept& kept) {
        const std::size_t key_offset = sizeof(Object) + sizeof(Kept);
        void* const memory = ::operator new(key_offset + key_bytes);
        auto* const object =
            ::new (memory) Object(static_cast<ValueType>(value.index()), key_offset, key_bytes);
        ::new (object + 1) Kept(std::move(kept));
        if (is_apart) {
          object->set_key(std::move(apart));
        } else {
          key.copy(object->key_place(), key.size());
          object->key_size_ = static_cast<std::uint8_t>(key.size());
        }
        return std::unique_ptr<Object>(object);
      },
      value);
}

void Object::operator delete(Object* object, std::destroying_delete_t) {
  object->drop_key_apart();
  object->visit_value([]<class Kept>(Kept& kept) { std::destroy_at(&kept); });
  std::destroy_at(object);
  ::operator delete(object);
}

// ---- The key ----

Object::KeyApart Object::key_apart() const {
  KeyApart apart = nullptr;
  std::memcpy(&apart, const_cast<Object*>(this)->key_place(), sizeof(apart));
  return apart;
}

void Object::drop_key_apart() {
  if (key_is_apart()) delete key_apart();
}

/// A key that fits is inside: so the same key is in the same place after a change is undone.
void Object::set_key(std::unique_ptr<std::string> key) {
  drop_key_apart();
  if (key->size() <= std::min(key_bytes(), kKeyBytesMax)) {
    key->copy(key_place(), key->size());
    key_size_ = static_cast<std::uint8_t>(key->size());
  } else {
    const KeyApart apart = key.release();
    std::memcpy(key_place(), &apart, sizeof(apart));
    key_size_ = kKeyIsApart;
  }
}

// ---- Memory ----

std::size_t Object::own_bytes() const {
  const std::size_t apart =
      key_is_apart() ? heap_block(sizeof(std::string)) + heap_bytes(*key_apart()) : 0;
  return heap_block(key_offset() + key_bytes()) + apart;
}

namespace {

const Stream& value_of(const std::unique_ptr<Stream>& stream) { return *stream; }
template <class Kept>
const Kept& value_of(const Kept& kept) {
  return kept;
}

/// Returns the memory of a value that is not inside the object.
template <class Kept>
std::size_t apart_bytes(const Kept&) {
  return std::is_same_v<Kept, std::unique_ptr<Stream>> ? heap_block(sizeof(Stream)) : 0;
}

}  // namespace

/// As value_bytes(), for any type.
std::size_t Object::collection_bytes() const {
  return const_cast<Object*>(this)->visit_value(
      [](const auto& kept) { return apart_bytes(kept) + value_of(kept).memory_bytes(); });
}

std::size_t Object::measured_bytes() const {
  return own_bytes() + const_cast<Object*>(this)->visit_value([](const auto& kept) {
    return apart_bytes(kept) + value_of(kept).measured_bytes();
  });
}

}  // namespace rushgate
