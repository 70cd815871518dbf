// A key and its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
};  // durable: never renumber

using Value = std::variant<StringValue, HashValue, SetValue, std::unique_ptr<Stream>, ListValue,
                           SortedSetValue>;  // in the order of ValueType

inline constexpr std::int64_t kNoExpiry = -1;

/// What the current group has changed of an object that is to be written when it commits.
enum class ObjectChange : std::uint8_t {
  kNone,      // nothing: it is not listed in Changes
  kElements,  // what a set or stream gathered
  kHeader,    // the header, and what was gathered
};

/// Its address is stable for as long as it lives. Changed by the keyspace's mutators alone.
struct Object {
  explicit Object(std::string_view its_key, Value its_value = StringValue(std::int64_t{0}))
      : key(its_key), value(std::move(its_value)) {}

  std::string key;
  Value value;
  std::uint64_t id = 0;  // never used again. Names its elements' records in the store; that of a
                         // string is not kept there
  std::int64_t expire_at_ms = kNoExpiry;  // ms since 1970 UTC
  std::uint8_t db = 0;                    // number of its database
  bool attached = false;                  // in its database's table; false once removed
  bool is_noted = false;                  // to be counted anew (MemoryCount)
  bool is_newborn = false;                // created since the newest savepoint (Changes)
  ObjectChange change = ObjectChange::kNone;
  std::uint64_t revision = 0;     // another one whenever WATCH is to see a change
                                  // of a hash also when a change is taken back
  std::size_t counted_bytes = 0;  // what MemoryCount has counted of it

  [[nodiscard]] bool is_expired(std::int64_t now_ms) const {
    return expire_at_ms != kNoExpiry && expire_at_ms <= now_ms;
  }

  [[nodiscard]] ValueType type() const { return static_cast<ValueType>(value.index()); }

  /// Bytes held, with key and value.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// The same, told from what there is instead of what was counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

  [[nodiscard]] StringValue& string() { return std::get<StringValue>(value); }
  [[nodiscard]] HashValue& hash() { return std::get<HashValue>(value); }
  [[nodiscard]] SetValue& set() { return std::get<SetValue>(value); }
  [[nodiscard]] SortedSetValue& sorted_set() { return std::get<SortedSetValue>(value); }
  [[nodiscard]] Stream& stream() { return *std::get<std::unique_ptr<Stream>>(value); }
  [[nodiscard]] ListValue& list() { return std::get<ListValue>(value); }

  /// Releases what only the turn may touch: another thread may destroy the object then.
  void prepare_to_be_freed() {
    if (type() == ValueType::kStream) stream().drop_cache();
  }
};

/// What TYPE answers: "string", "hash", "set", "stream", "list", "zset".
std::string_view type_name(ValueType type);

}  // namespace rushgate
