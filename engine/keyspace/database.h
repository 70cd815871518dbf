// One of the keyspace's numbered databases: a table of keys, and which of them expire when.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/base/heap.h"
#include "engine/keyspace/changes.h"
#include "engine/keyspace/hashing.h"
#include "engine/keyspace/lazy_free.h"
#include "engine/keyspace/object.h"
#include "engine/keyspace/segmented_table.h"
#include "engine/keyspace/table_walk.h"
#include "engine/keyspace/watched_key.h"

namespace rushgate {

class Keyspace;
class KeyspaceLoader;

/// Not thread-safe: it belongs to whoever has the turn. The mutators here are those that all types
/// share; each type's own stand in strings.h, hashes.h, lists.h, sets.h, sorted_sets.h, streams.h.
class Database {
 public:
  Database(Keyspace& keyspace, std::uint8_t number);

  /// The object at `key`, or null. One whose time is up is removed first. Valid until it is
  /// removed.
  Object* find(std::string_view key);

  /// Fetches the memory that find() will touch for these keys, at most kWarmedMax: one wait for all
  /// instead of one for each.
  void warm(std::span<const std::string_view> keys) const;

  /// A new object at `key`, where there must be none.
  Object& create(std::string_view key, Value value);

  /// Removes the object with all its elements.
  void remove(Object& object);

  /// Moves the object to another key or database, where there must be nothing.
  void move(Object& object, Database& to, std::string_view key);

  /// SWAPDB: each holds what the other did.
  void swap(Database& other);

  /// When the object expires; kNoExpiry for never. A time that has passed is allowed: the next
  /// find() removes it.
  void set_expiry(Object& object, std::int64_t expire_at_ms);

  // ---- WATCH ----
  [[nodiscard]] WatchedKey watch(std::string_view key);
  /// Nobody asks for it any more.
  void unwatch(const WatchedKey& watched);
  /// Has anything been done to the key since that Redis's WATCH would see? (Something taken back,
  /// too.)
  [[nodiscard]] bool has_changed(const WatchedKey& watched);

  /// FLUSHDB.
  void remove_all();

  /// Keys, those included whose time is up but which nobody has met yet (as Redis's DBSIZE counts).
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::size_t expiring() const { return expiries_.size(); }
  /// Of the keys that expire; 0 if none does.
  [[nodiscard]] std::int64_t average_ttl_ms() const;
  /// Bytes held, told from what there is instead of what MemoryCount counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

  /// visit(Object&); in the table's order. `visit` must not create or remove keys.
  template <class Visit>
  void for_each(Visit visit) {
    table_.for_each([&](ObjectEntry::Item& object) { visit(*object); });
  }

  // A walk in steps, as in table_walk.h: the end of a step, and visit(Object&) for its keys.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return rushgate::step_end(table_, begin, count);
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) {
    rushgate::for_each_between(table_, begin, end,
                               [&](ObjectEntry::Item& object) { visit(*object); });
  }

  /// Any of the keys, of which there must be some; perhaps one whose time is up.
  [[nodiscard]] Object& draw(Random& random) { return *table_.draw(random); }

  /// When the next key expires, if any does.
  [[nodiscard]] std::optional<std::int64_t> next_expiry_ms() const;
  /// Removes up to `count_max` keys whose time is up, in order of their time. How many.
  std::size_t remove_expired(std::size_t count_max);

  [[nodiscard]] Keyspace& keyspace() { return keyspace_; }
  [[nodiscard]] Changes& changes();
  [[nodiscard]] std::uint8_t number() const { return number_; }

 private:
  friend class KeyspaceLoader;

  struct Contents;
  friend class Keyspace;

  void signal_streams_replaced_by(Database& other);
  void record_header_removals();
  /// Removes all objects from memory, when their records' removal is recorded.
  void drop_all();

  struct ObjectEntry {
    using Item = std::unique_ptr<Object>;
    static std::uint64_t hash(std::string_view key, std::uint64_t seed) {
      return hash_bytes(key, seed);
    }
    static std::uint64_t hash(const Item& object, std::uint64_t seed) {
      return hash_bytes(object->key, seed);
    }
    static bool matches(const Item& object, std::string_view key) { return object->key == key; }
  };
  struct SoonerExpiry {
    bool operator()(const Object* a, const Object* b) const {
      return std::pair(a->expire_at_ms, std::string_view(a->key)) <
             std::pair(b->expire_at_ms, std::string_view(b->key));
    }
  };
  using Table = SegmentedTable<ObjectEntry>;

  /// Objects that expire, in order of their times, which must not change while they are here.
  class Expiries {
   public:
    using Objects = std::set<Object*, SoonerExpiry>;
    /// The memory of one that was taken out, with which it is inserted again; or none.
    using Node = Objects::node_type;

    [[nodiscard]] std::size_t size() const { return objects_.size(); }
    [[nodiscard]] bool empty() const { return objects_.empty(); }
    [[nodiscard]] Object& first() const { return **objects_.begin(); }
    /// Throws nothing if `node` is one.
    void insert(Object& object, Node node = {}) {
      if (node.empty()) {
        objects_.insert(&object);
      } else {
        node.value() = &object;
        objects_.insert(std::move(node));
      }
      times_ += static_cast<std::uint64_t>(object.expire_at_ms);
    }
    Node take(Object& object) {
      times_ -= static_cast<std::uint64_t>(object.expire_at_ms);
      return objects_.extract(&object);
    }
    /// Of all of them; negative if most are up.
    [[nodiscard]] std::int64_t sum_of_ttls_ms(std::int64_t now_ms) const {
      return static_cast<std::int64_t>(times_ -
                                       objects_.size() * static_cast<std::uint64_t>(now_ms));
    }
    [[nodiscard]] std::size_t memory_bytes() const { return tree_bytes<Object*>(size()); }

   private:
    Objects objects_;
    std::uint64_t times_ = 0;  // the sum of them, which wraps around
  };

  /// Of its tables, in which keys stand.
  [[nodiscard]] std::size_t table_bytes() const {
    return table_.memory_bytes() + expiries_.memory_bytes();
  }
  [[nodiscard]] MemoryCount& memory();
  /// Of an object that was detached.
  [[nodiscard]] Removed<Object> removed(std::unique_ptr<Object> object);

  /// Counts what the tables take more or less at its end.
  class CountTables {
   public:
    explicit CountTables(Database& db) : db_(db), before_(db.table_bytes()) {}
    ~CountTables() { db_.memory().change(before_, db_.table_bytes()); }
    CountTables(const CountTables&) = delete;
    CountTables& operator=(const CountTables&) = delete;

   private:
    Database& db_;
    const std::size_t before_;
  };
  /// An object that is in no table, and its place among those that expire if it had one.
  struct Detached {
    std::unique_ptr<Object> object;
    Expiries::Node expiry;
  };

  // Without undo or record: what the mutators, their undo steps and loading are made of.
  /// Throws nothing if the object was detached from this database, or after reserve_for() of its
  /// key.
  Object& attach(Detached detached);
  Detached detach(Object& object);
  void reserve_for(std::string_view key);
  /// Returns the node that the object had if it does not expire now. Throws nothing if it did
  /// expire, or with the node that it had then.
  Expiries::Node assign_expiry(Object& object, std::int64_t expire_at_ms, Expiries::Node node = {});
  void exchange(Database& other);

  void note_creation(std::string_view key);

  Object*& recent(std::string_view key);
  void forget_recent() { recent_.fill(nullptr); }

  Keyspace& keyspace_;
  const std::uint8_t number_;
  Table table_;
  std::array<Object*, 8> recent_{};  // of table_: mostly a key is asked for again soon
  Expiries expiries_;                // those objects of table_ that expire

  /// A key where nothing was when somebody began to watch it.
  struct WatchedAbsence {
    std::size_t watchers = 0;
    std::uint64_t creations = 0;  // of something there, since
  };
  std::unordered_map<std::string, WatchedAbsence> watched_absences_;
};

}  // namespace rushgate
