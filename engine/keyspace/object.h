// A key and its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/keyspace/hash_value.h"
#include "engine/keyspace/list_value.h"
#include "engine/keyspace/set_value.h"
#include "engine/keyspace/sorted_set_value.h"
#include "engine/keyspace/stream.h"
#include "engine/keyspace/string_value.h"

namespace rushgate {

enum class ValueType : std::uint8_t {
  kString = 0,
  kHash = 1,
  kSet = 2,
  kStream = 3,
  kList = 4,
  kSortedSet = 5
};  // durable: values must not change

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

/// Orders objects by their expiry times.
struct SoonerExpiry {
  bool operator()(const Object* a, const Object* b) const;
};
using ObjectsByExpiry = std::multiset<Object*, SoonerExpiry>;

/// Its address does not change. Only the keyspace's mutators change it.
struct Object {
  explicit Object(std::string_view its_key, Value its_value = StringValue(std::int64_t{0}))
      : key(its_key), value(std::move(its_value)) {}

  std::string key;
  Value value;
  std::uint64_t id = 0;  // identifies its elements' records in the store. Unique among all objects;
                         // not stored for a string
  std::int64_t expire_at_ms = kNoExpiry;   // ms since 1970 UTC
  ObjectsByExpiry::iterator expiry_place;  // in its database's index; only while it is attached and
                                           // expires
  std::uint8_t db = 0;                     // number of its database
  bool attached = false;                   // in its database's table; false once removed
  bool is_noted = false;                   // MemoryCount must count it again
  bool is_newborn = false;                 // created since the newest savepoint (Changes)
  ObjectChange change = ObjectChange::kNone;
  std::uint64_t revision = 0;     // changes whenever WATCH must see a change;
                                  // for a hash also when a change is undone
  std::size_t counted_bytes = 0;  // the bytes counted by MemoryCount

  [[nodiscard]] bool is_expired(std::int64_t now_ms) const {
    return expire_at_ms != kNoExpiry && expire_at_ms <= now_ms;
  }

  [[nodiscard]] ValueType type() const { return static_cast<ValueType>(value.index()); }

  /// Returns the memory with key and value.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

  [[nodiscard]] StringValue& string() { return std::get<StringValue>(value); }
  [[nodiscard]] HashValue& hash() { return std::get<HashValue>(value); }
  [[nodiscard]] SetValue& set() { return std::get<SetValue>(value); }
  [[nodiscard]] SortedSetValue& sorted_set() { return std::get<SortedSetValue>(value); }
  [[nodiscard]] Stream& stream() { return *std::get<std::unique_ptr<Stream>>(value); }
  [[nodiscard]] ListValue& list() { return std::get<ListValue>(value); }

  /// Releases everything that belongs to the turn, so that another thread may destroy it.
  void prepare_to_be_freed() {
    if (type() == ValueType::kStream) stream().drop_cache();
  }
};

inline bool SoonerExpiry::operator()(const Object* a, const Object* b) const {
  return a->expire_at_ms < b->expire_at_ms;
}

/// Returns the reply of TYPE: "string", "hash", "set", "stream", "list", "zset".
std::string_view type_name(ValueType type);

}  // namespace rushgate
