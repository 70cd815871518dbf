// One of the keyspace's numbered databases: a table of keys, and their expiries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/change_listener.h"
#include "engine/redis/keyspace/changes.h"
#include "engine/redis/keyspace/field_expiries.h"
#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/keyspace/lazy_free.h"
#include "engine/redis/keyspace/object.h"
#include "engine/redis/keyspace/segmented_table.h"
#include "engine/redis/keyspace/table_walk.h"
#include "engine/redis/keyspace/watched_key.h"

namespace rushgate {

class Keyspace;
class KeyspaceLoader;

/// Not thread-safe: it belongs to the thread that holds the turn. The mutators here apply to all
/// types. Those of one type are in strings.h, hashes.h, lists.h, sets.h, sorted_sets.h, streams.h.
class Database {
 public:
  Database(Keyspace& keyspace, std::uint8_t number);

  /// Returns the object at `key`, or null. An expired object is removed first, unless
  /// Keyspace::keeps_expired(). The expired fields of a hash are hidden, and some of them are removed.
  /// The pointer is valid until the object is removed. Notes a use of the key.
  Object* find(std::string_view key);
  /// As find(), without a use of the key.
  Object* peek(std::string_view key);
  /// Returns the object at `key`, expired or not, or null. This is no access: it removes, counts and
  /// reports nothing.
  [[nodiscard]] const Object* find_stored(std::string_view key) const;
  /// Called when a use of any key must be noted again.
  void forget_recent() { recent_.fill(nullptr); }

  /// Returns true if find() would not return the object: it has expired, or all of its fields.
  [[nodiscard]] bool has_expired(const Object& object) const;
  /// Removes an object that has expired, or the expired fields of a hash. Under
  /// Keyspace::keeps_expired() only hides the fields. Returns false if find() would return null.
  bool outlives_expiry(Object& object);

  /// Prefetches the memory that find() reads for these keys, at most kWarmedMax, so that their
  /// cache misses overlap.
  void warm(std::span<const std::string_view> keys) const;

  /// Creates an object at `key`, which must be free.
  Object& create(std::string_view key, Value value);

  /// Replaces the object by a new one with this value and no expiry.
  Object& replace(Object& object, Value value);

  /// Removes the object with all its elements.
  void remove(Object& object, ChangeCause cause = ChangeCause::kRequest);

  /// Moves the object to another key or database, where the key must be free.
  void move(Object& object, Database& to, std::string_view key);

  /// SWAPDB: exchanges the contents.
  void swap(Database& other);

  /// Sets the expiry; kNoExpiry for none. A time in the past is allowed: the next find() removes
  /// the object.
  void set_expiry(Object& object, std::int64_t expire_at_ms);

  /// Must be called after the expiries of a hash's fields changed. Needs no memory.
  void field_expiries_changed(Object& hash);

  // ---- WATCH ----
  [[nodiscard]] WatchedKey watch(std::string_view key);
  /// Ends a watch.
  void unwatch(const WatchedKey& watched);
  /// Returns true if Redis's WATCH would see a change of the key since then. Changes that were
  /// rolled back count, too.
  [[nodiscard]] bool has_changed(const WatchedKey& watched);
  /// As has_changed(), but a key that has expired is unchanged until it is removed.
  [[nodiscard]] bool was_written(const WatchedKey& watched) const;

  /// FLUSHDB.
  void remove_all();

  /// Returns the number of keys, expired ones included until they are removed (as Redis's DBSIZE).
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] std::size_t expiring() const { return expiries_.size(); }
  /// Returns the memory of the table of keys, without the objects.
  [[nodiscard]] std::size_t key_table_bytes() const { return table_.memory_bytes(); }
  /// Returns the memory of the index of the expiring keys.
  [[nodiscard]] std::size_t expiry_index_bytes() const { return expiries_.memory_bytes(); }
  /// Returns the average time to live of the expiring keys; 0 if there are none.
  [[nodiscard]] std::int64_t average_ttl_ms() const;
  /// Computes the memory from the contents, for tests of MemoryCount.
  [[nodiscard]] std::size_t measured_bytes() const;

  /// Calls visit(Object&) in the table's order. `visit` must not create or remove keys.
  template <class Visit>
  void for_each(Visit visit) {
    table_.for_each([&](ObjectEntry::Item& object) { visit(*object); });
  }

  // Iterates in steps (table_walk.h): returns the end of a step; calls visit(Object&) for its keys.
  [[nodiscard]] std::uint64_t step_end(std::uint64_t begin, std::size_t count) const {
    return rushgate::step_end(table_, begin, count);
  }
  template <class Visit>
  void for_each_between(std::uint64_t begin, std::uint64_t end, Visit visit) {
    rushgate::for_each_between(table_, begin, end,
                               [&](ObjectEntry::Item& object) { visit(*object); });
  }

  /// Returns a random key, possibly an expired one. There must be a key.
  [[nodiscard]] Object& draw(Random& random) { return *table_.draw(random); }

  /// Returns the time of the next expiry; empty if there is none.
  [[nodiscard]] std::optional<std::int64_t> next_expiry_ms() const;
  /// Removes up to `count_max` expired keys and fields, in order of their times, those of one hash
  /// together. Returns their number.
  std::size_t remove_expired(std::size_t count_max);

  [[nodiscard]] Keyspace& keyspace() { return keyspace_; }
  [[nodiscard]] Changes& changes();
  [[nodiscard]] std::uint8_t number() const { return number_; }

 private:
  friend class KeyspaceLoader;

  struct Contents;
  friend class Keyspace;

  /// As create(), without an event.
  Object& insert(std::string_view key, Value value);
  enum class Lookup : std::uint8_t { kPeek, kUse };
  Object* look_up(std::string_view key, Lookup lookup);
  /// Removes an expired object.
  void expire(Object& object);
  void signal_streams_replaced_by(const Database& other);
  void record_header_removals();
  /// Removes all objects from memory, after the removal of their records was recorded.
  void drop_all();

  struct ObjectEntry {
    using Item = std::unique_ptr<Object>;
    static std::uint64_t hash(std::string_view key, std::uint64_t seed) {
      return hash_bytes(key, seed);
    }
    static std::uint64_t hash(const Item& object, std::uint64_t seed) {
      return hash_bytes(object->key(), seed);
    }
    static bool matches(const Item& object, std::string_view key) { return object->key() == key; }
  };
  using Table = SegmentedTable<ObjectEntry>;

  /// The expiries of objects in order of their times. Each object stores the place of its own, so
  /// that no search is needed.
  class Expiries {
   public:
    /// The memory of a removed entry, for inserting it again; may be empty.
    using Node = ExpiriesInOrder::node_type;

    [[nodiscard]] std::size_t size() const { return expiries_.size(); }
    [[nodiscard]] bool empty() const { return expiries_.empty(); }
    [[nodiscard]] const Expiry& first() const { return *expiries_.begin(); }
    /// Throws nothing if `node` is not empty.
    void insert(Object& object, std::int64_t expire_at_ms, Node node = {}) {
      const Expiry expiry{.at_ms = expire_at_ms, .object = &object};
      // A new expiry is often the last one.
      const auto last = expiries_.end();
      if (node.empty()) {
        object.expiry_place = expiries_.insert(last, expiry);
      } else {
        node.value() = expiry;
        object.expiry_place = expiries_.insert(last, std::move(node));
      }
      object.expires = true;
      times_ += static_cast<std::uint64_t>(expire_at_ms);
    }
    /// The object still reads its time from the entry.
    Node take(Object& object) {
      times_ -= static_cast<std::uint64_t>(object.expire_at_ms());
      return expiries_.extract(object.expiry_place);
    }
    /// Changes the time of an object that is in here. Needs no memory.
    void move(Object& object, std::int64_t expire_at_ms) {
      if (keeps_place(object, expire_at_ms)) {
        times_ += static_cast<std::uint64_t>(expire_at_ms - object.expire_at_ms());
        object.expiry_place->at_ms = expire_at_ms;
        return;
      }
      insert(object, expire_at_ms, take(object));
    }
    /// Returns the sum over all entries; negative if most have expired.
    [[nodiscard]] std::int64_t sum_of_ttls_ms(std::int64_t now_ms) const {
      return static_cast<std::int64_t>(times_ -
                                       expiries_.size() * static_cast<std::uint64_t>(now_ms));
    }
    [[nodiscard]] std::size_t memory_bytes() const { return tree_bytes<Expiry>(size()); }

   private:
    /// Returns true if the object stays between its neighbours.
    [[nodiscard]] bool keeps_place(const Object& object, std::int64_t expire_at_ms) const {
      const ExpiriesInOrder::const_iterator place = object.expiry_place;
      if (expire_at_ms >= place->at_ms) {
        const auto next = std::next(place);
        return next == expiries_.end() || expire_at_ms <= next->at_ms;
      }
      return place == expiries_.begin() || std::prev(place)->at_ms <= expire_at_ms;
    }

    ExpiriesInOrder expiries_;
    std::uint64_t times_ = 0;  // their sum, modulo 2^64
  };

  /// Returns the memory of the tables of keys.
  [[nodiscard]] std::size_t table_bytes() const { return key_table_bytes() + expiry_index_bytes(); }
  [[nodiscard]] MemoryCount& memory();
  /// Wraps a detached object for an undo step.
  [[nodiscard]] Removed<Object> removed(std::unique_ptr<Object> object);

  /// Counts the change of the tables' memory at the end of its lifetime.
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
  /// An object outside the table, with its entry among the expiring ones if it had one.
  struct Detached {
    std::unique_ptr<Object> object;
    Expiries::Node expiry;
  };

  // Building blocks of the mutators, their undo steps and loading: without undo and records.
  // Throws nothing if the object was detached from this database, or after reserve_for() of its
  // key.
  Object& attach(Detached detached);
  Detached detach(Object& object);
  void reserve_for(std::string_view key);
  /// Adds or removes the expiry of an object. Returns the object's entry if it no longer expires.
  /// Throws nothing if it expired before, or if given the entry that it had then.
  Expiries::Node assign_expiry(Object& object, std::int64_t expire_at_ms, Expiries::Node node = {});
  void exchange(Database& other);

  void note_creation(std::string_view key);
  [[nodiscard]] bool has_due_fields(const Object& object) const;
  /// To be called when the first key gets an expiry, or the last one loses it.
  void note_expiring();

  Object*& recent(std::string_view key);

  Keyspace& keyspace_;
  const std::uint8_t number_;
  Table table_;
  std::array<Object*, 8> recent_{};  // of table_, used in this second: most are used again soon
  Expiries expiries_;                // the expiring objects of table_
  HashesByExpiry expiring_hashes_;   // the hashes of table_ with fields that expire

  /// A watched key that did not exist when the watch began.
  struct WatchedAbsence {
    std::size_t watchers = 0;
    std::uint64_t creations = 0;  // objects created at the key since then
  };
  std::unordered_map<std::string, WatchedAbsence> watched_absences_;
};

}  // namespace rushgate
