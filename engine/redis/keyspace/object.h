// A key and its value, in one block of memory that the type of the value determines:
//
//   [Object: 32 bytes][the value: StringValue, HashValue, ...][the key]
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/redis/keyspace/hash_value.h"
#include "engine/redis/keyspace/list_value.h"
#include "engine/redis/keyspace/set_value.h"
#include "engine/redis/keyspace/sorted_set_value.h"
#include "engine/redis/keyspace/stream.h"
#include "engine/redis/keyspace/string_value.h"

namespace rushgate {

enum class ValueType : std::uint8_t {
  kString = 0,
  kHash = 1,
  kSet = 2,
  kStream = 3,
  kList = 4,
  kSortedSet = 5
};  // durable: values must not change

/// The initial value of an object.
using Value = std::variant<StringValue, HashValue, SetValue, std::unique_ptr<Stream>, ListValue,
                           SortedSetValue>;  // in the order of ValueType

inline constexpr std::int64_t kNoExpiry = -1;

/// Changes of an object in the current commit batch that its commit must write.
enum class ObjectChange : std::uint8_t {
  kNone,      // none: the object is not listed in Changes
  kElements,  // buffered elements of a set or stream
  kHeader,    // the header, and buffered elements
};

struct Object;

/// The expiry of an object, in its database's index.
struct Expiry {
  mutable std::int64_t at_ms;  // ms since 1970 UTC. A change must keep the order
  Object* object;
};
struct SoonerExpiry {
  bool operator()(const Expiry& a, const Expiry& b) const { return a.at_ms < b.at_ms; }
};
using ExpiriesInOrder = std::multiset<Expiry, SoonerExpiry>;

/// Its address and its type do not change. Only the keyspace's mutators change it.
struct Object {
  /// Returns an object that is in no database.
  static std::unique_ptr<Object> make(std::string_view key, Value value);
  /// Destroys an object together with its value and its key.
  static void operator delete(Object* object, std::destroying_delete_t);
  static constexpr std::uint64_t kCountedBytesMax = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint8_t kDbMask = (1U << 4) - 1;

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  std::uint64_t id = 0;  // identifies its elements' records in the store. Unique among all objects;
                         // not stored for a string
  ExpiriesInOrder::iterator expiry_place;  // if it expires
  std::uint64_t counted_bytes : 40 = 0;    // the bytes of the value counted by MemoryCount
  std::uint64_t last_use : 24 = 0;         // in seconds (use_clock.h); not stored, not undone
  std::uint32_t revision = 0;              // changes whenever WATCH must see a change;
                                           // for a hash also when a change is undone
  std::uint8_t db : 4 = 0;                 // number of its database
  bool attached : 1 = false;               // in its database's table; false once removed
  bool is_noted : 1 = false;               // MemoryCount must count it again
  bool is_newborn : 1 = false;             // created since the newest savepoint (Changes)
  bool expires : 1 = false;
  ObjectChange change : 2 = ObjectChange::kNone;

  [[nodiscard]] std::string_view key() const {
    if (key_is_apart()) return *key_apart();
    return {const_cast<Object*>(this)->key_place(), key_size_};
  }
  /// Replaces the key. Needs no memory.
  void set_key(std::unique_ptr<std::string> key);

  /// Returns ms since 1970 UTC, or kNoExpiry. Its entry in the index must exist, also when it is
  /// removed.
  [[nodiscard]] std::int64_t expire_at_ms() const {
    return expires ? expiry_place->at_ms : kNoExpiry;
  }
  [[nodiscard]] bool is_expired(std::int64_t now_ms) const {
    return expires && expiry_place->at_ms <= now_ms;
  }

  [[nodiscard]] ValueType type() const {
    return static_cast<ValueType>(type_and_key_offset_ & kTypeMask);
  }

  /// Returns the memory with key and value.
  [[nodiscard]] std::size_t memory_bytes() const { return own_bytes() + value_bytes(); }
  /// Returns the memory of the object with its key, which only set_key() changes.
  [[nodiscard]] std::size_t own_bytes() const;
  /// Returns the memory of the value outside the object.
  [[nodiscard]] std::size_t value_bytes() const {
    return type() == ValueType::kString ? string().memory_bytes() : collection_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

  // The value. Its type must be that of the function.
  [[nodiscard]] StringValue& string() { return value<StringValue>(ValueType::kString); }
  [[nodiscard]] HashValue& hash() { return value<HashValue>(ValueType::kHash); }
  [[nodiscard]] SetValue& set() { return value<SetValue>(ValueType::kSet); }
  [[nodiscard]] SortedSetValue& sorted_set() {
    return value<SortedSetValue>(ValueType::kSortedSet);
  }
  [[nodiscard]] Stream& stream() { return *value<std::unique_ptr<Stream>>(ValueType::kStream); }
  [[nodiscard]] ListValue& list() { return value<ListValue>(ValueType::kList); }
  [[nodiscard]] const StringValue& string() const { return const_cast<Object*>(this)->string(); }
  [[nodiscard]] const HashValue& hash() const { return const_cast<Object*>(this)->hash(); }
  [[nodiscard]] const SetValue& set() const { return const_cast<Object*>(this)->set(); }
  [[nodiscard]] const SortedSetValue& sorted_set() const {
    return const_cast<Object*>(this)->sorted_set();
  }
  [[nodiscard]] const Stream& stream() const { return const_cast<Object*>(this)->stream(); }
  [[nodiscard]] const ListValue& list() const { return const_cast<Object*>(this)->list(); }

  /// Releases everything that belongs to the turn, so that another thread may destroy it.
  void prepare_to_be_freed() {
    if (type() == ValueType::kStream) stream().drop_cache();
  }

 private:
  using KeyApart = std::string*;
  static constexpr std::size_t kKeyBytesMin = sizeof(KeyApart);
  static constexpr std::size_t kKeyBytesMax = 254;
  static constexpr std::uint8_t kKeyIsApart = 255;  // a pointer to its string is in its place

  static constexpr std::size_t kWordBytes = 8;
  static constexpr std::uint8_t kKeyWordsMask = (1U << 6) - 1;
  static constexpr std::uint8_t kTypeMask = 0b0000'0111;
  static constexpr std::uint8_t kKeyOffsetMask = 0b1111'1000;

  /// `key_offset` and `key_bytes` are multiples of kWordBytes.
  Object(ValueType type, std::size_t key_offset, std::size_t key_bytes)
      : key_words_(key_bytes / kWordBytes & kKeyWordsMask),
        type_and_key_offset_(
            static_cast<std::uint8_t>(key_offset | static_cast<std::uint8_t>(type))) {}

  template <class T>
  [[nodiscard]] T& value([[maybe_unused]] ValueType type) {
    static_assert(alignof(T) <= alignof(Object));
    assert(this->type() == type);
    return *std::launder(reinterpret_cast<T*>(this + 1));
  }
  /// Calls visit(T&) for the value of type T.
  template <class Visit>
  decltype(auto) visit_value(Visit visit);
  [[nodiscard]] std::size_t collection_bytes() const;

  [[nodiscard]] std::size_t key_offset() const { return type_and_key_offset_ & kKeyOffsetMask; }
  [[nodiscard]] std::size_t key_bytes() const { return key_words_ * kWordBytes; }
  [[nodiscard]] char* key_place() { return reinterpret_cast<char*>(this) + key_offset(); }
  [[nodiscard]] bool key_is_apart() const { return key_size_ == kKeyIsApart; }
  [[nodiscard]] KeyApart key_apart() const;
  void drop_key_apart();

  const std::uint8_t key_words_ : 6;  // the space for the key
  const std::uint8_t type_and_key_offset_;
  std::uint8_t key_size_ = 0;  // or kKeyIsApart
};
static_assert(sizeof(Object) == 32);

/// Returns the reply of TYPE: "string", "hash", "set", "stream", "list", "zset".
std::string_view type_name(ValueType type);

}  // namespace rushgate
