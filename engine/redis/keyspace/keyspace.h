// The data of the engine in memory: sixteen databases, the time that scripts see, and the changeset
// of the current commit batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/base/random.h"
#include "engine/redis/keyspace/change_listener.h"
#include "engine/redis/keyspace/changes.h"
#include "engine/redis/keyspace/database.h"
#include "engine/redis/keyspace/encoding_limits.h"
#include "engine/redis/keyspace/key_events.h"
#include "engine/redis/keyspace/lazy_free.h"
#include "engine/redis/keyspace/stream_cache.h"
#include "engine/redis/keyspace/use_clock.h"
#include <rushgate/store.h>

namespace rushgate {

enum class KeySignal : std::uint8_t {
  kReady,  // the object was created or moved to its key, or has grown
  kGone,   // it leaves its key, or has lost data that a client may wait for
};

/// Results of Database::find(), and removals of expired keys.
struct KeyCounts {
  std::uint64_t found = 0;
  std::uint64_t missing = 0;
  std::uint64_t expired = 0;
};

/// A function library in the store. The keyspace does not read its source.
struct StoredLibrary {
  std::string name;
  std::string code;
};

/// Receives signals about keys with blocked clients. Called inside the turn.
class KeyListener {
 public:
  virtual ~KeyListener() = default;
  /// The key's blocked clients must be served after the command or script. `type`: that of the
  /// value.
  virtual void key_signalled(std::uint8_t db, std::string_view key, ValueType type,
                             KeySignal what) = 0;
  /// Returns false if no key has a blocked client.
  [[nodiscard]] virtual bool listens() const { return true; }
};

/// Not thread-safe: it belongs to the thread that holds the turn. Does not own the store, which
/// must outlive it.
class Keyspace {
 public:
  static constexpr std::size_t kDatabases = 16;

  /// `seed` determines the order of iteration and the random draws.
  Keyspace(Store& store, std::uint64_t seed);
  ~Keyspace();
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;

  /// Fills an empty keyspace from the store. kDataLoss names the first invalid record.
  absl::Status load();
  /// Returns the function libraries that load() has found, in the order of their names, and forgets
  /// them.
  [[nodiscard]] std::vector<StoredLibrary> take_libraries() {
    return std::exchange(libraries_, {});
  }

  [[nodiscard]] Database& db(std::size_t number) { return *databases_[number]; }
  [[nodiscard]] Changes& changes() { return changes_; }
  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Frees large values that were removed.
  [[nodiscard]] LazyFree& lazy_free() { return lazy_free_; }
  [[nodiscard]] const LazyFree& lazy_free() const { return lazy_free_; }
  /// The stream data cached in memory.
  [[nodiscard]] StreamCaches& stream_caches() { return stream_caches_; }
  /// Returns the counted memory (memory_count.h), the store's memory, the stream caches, and
  /// removed values that are not freed yet.
  [[nodiscard]] std::size_t memory_bytes() { return kept_bytes() + lazy_free_.bytes_pending(); }
  /// As memory_bytes(), without the values that are not freed yet.
  [[nodiscard]] std::size_t kept_bytes() {
    return changes_.memory().bytes() + store_.memory_bytes() + stream_caches_.bytes();
  }
  /// Returns true if memory_bytes() exceeds `bytes_max`. First drops caches and waits for removed
  /// values to be freed, at most for LazyFree::kWaitMax. Must not be called while a stream is
  /// read.
  [[nodiscard]] bool needs_more_than(std::size_t bytes_max);
  /// For random draws of elements.
  [[nodiscard]] Random& random() { return random_; }

  [[nodiscard]] const EncodingLimits& limits() const { return limits_; }
  /// A small value that exceeds the new limits becomes large when it grows. A large one stays large.
  void set_limits(const EncodingLimits& limits) { limits_ = limits; }

  /// Returns the time for commands: ms since 1970 UTC. It changes only in set_now_ms().
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void set_now_ms(std::int64_t now_ms) {
    now_ms_ = now_ms;
    if (use_clock_.set_now_ms(now_ms)) forget_recent();
  }

  // ---- The last uses of keys ----
  [[nodiscard]] const UseClock& use_clock() const { return use_clock_; }
  /// Whether Database::find() leaves the last uses of keys as they are (CLIENT NO-TOUCH).
  void set_keeps_last_uses(bool keeps_last_uses) { keeps_last_uses_ = keeps_last_uses; }
  /// Notes a use of the object by find(). Returns false if it keeps its last use.
  bool note_use(Object& object) const {
    if (keeps_last_uses_) return false;
    object.last_use = use_clock_.now() & UseClock::kMax;
    return true;
  }
  /// Notes a use of the object `idle_s` seconds ago.
  void set_last_use(Object& object, std::int64_t idle_s) {
    object.last_use = use_clock_.last_use(idle_s) & UseClock::kMax;
    forget_recent(object);
  }

  [[nodiscard]] KeyCounts& counts() { return counts_; }
  /// Keyspace notifications.
  [[nodiscard]] KeyEvents& events() { return events_; }

  /// Writes the changeset to the store and forgets it. On failure undoes its changes in memory; the
  /// state of the store is unknown, so no commit may follow. If it throws (out of memory),
  /// everything is undone too, and nothing was stored.
  absl::Status commit();

  /// Whether Database::find() leaves expired keys and fields in place: true during a command that
  /// only reads, in a pause of writes. The end of the command shows the hidden fields again.
  void set_keeps_expired(bool keeps_expired) {
    keeps_expired_ = keeps_expired;
    if (hidden_fields_.size() > 0) [[unlikely]]
      hidden_fields_.roll_back_to(0);
  }
  [[nodiscard]] bool keeps_expired() const { return keeps_expired_; }
  /// The steps that show the hidden fields again.
  [[nodiscard]] UndoLog& hidden_fields() { return hidden_fields_; }
  /// Removes up to `count_max` expired keys and fields over all databases. Returns their number.
  std::size_t remove_expired(std::size_t count_max);
  [[nodiscard]] std::optional<std::int64_t> next_expiry_ms() const;
  /// For Database: whether any of its keys or fields expires.
  void note_expiring(std::uint8_t db, bool expires) {
    const auto bit = static_cast<std::uint16_t>(1U << db);
    expiring_ = static_cast<std::uint16_t>(expires ? expiring_ | bit : expiring_ & ~bit);
  }

  /// FLUSHALL.
  void remove_all();
  /// Returns true if no other database has keys.
  [[nodiscard]] bool is_all_in(const Database& database) const;

  /// Returns a new id for an object's records.
  std::uint64_t next_object_id() { return next_object_id_++; }

  // ---- Changes that WATCH sees, for every mutator ----
  /// May be null; is not owned.
  void set_change_listener(ChangeListener* listener) { change_listener_ = listener; }
  /// Reports a change of a key. Called before the change, or after the push of its undo step.
  void note_change(std::string_view key, ChangeCause cause = ChangeCause::kRequest) {
    ++changes_noted_;
    if (change_listener_ != nullptr) [[unlikely]]
      change_listener_->key_changed(key, cause);
  }
  /// Notes a change of an object's value.
  void note_change(Object& object) {
    ++object.revision;
    note_change(object.key());
  }
  /// Notes SWAPDB, which replaces all keys of a database.
  void note_swap() { ++changes_noted_; }
  /// Returns a number that grows with each change that WATCH may see.
  [[nodiscard]] std::uint64_t changes_noted() const { return changes_noted_; }
  /// Reports FLUSHDB or FLUSHALL. Called before the change.
  void note_flush() {
    ++changes_noted_;
    if (change_listener_ != nullptr) change_listener_->keys_flushed();
  }

  /// May be null; is not owned.
  void set_listener(KeyListener* listener) { listener_ = listener; }
  /// Called by mutators of every type. (Lists and sorted sets that grow need no signal: no client
  /// waits for one that exists.)
  void signal(const Object& object, KeySignal what);
  /// Returns false if signal() has no effect at present.
  [[nodiscard]] bool may_signal() const { return listener_ != nullptr && listener_->listens(); }

 private:
  absl::Status find_next_object_id(std::uint64_t largest_loaded);
  void forget_recent();
  void forget_recent(const Object& object);

  Store& store_;
  const std::uint64_t seed_;
  Random random_;
  EncodingLimits limits_;
  std::int64_t now_ms_ = 0;
  std::uint64_t next_object_id_ = 1;
  UseClock use_clock_;
  bool keeps_last_uses_ = false;
  bool keeps_expired_ = false;
  std::uint64_t changes_noted_ = 0;
  std::uint16_t expiring_ = 0;  // bit i: a key or a field of database i expires
  UndoLog hidden_fields_;
  KeyCounts counts_;
  KeyEvents events_;
  KeyListener* listener_ = nullptr;
  ChangeListener* change_listener_ = nullptr;
  std::vector<StoredLibrary> libraries_;  // between load() and take_libraries()
  LazyFree lazy_free_;
  StreamCaches stream_caches_;
  Changes changes_;  // declared last: its undo steps refer to databases_
  std::array<std::unique_ptr<Database>, kDatabases> databases_;
};

}  // namespace rushgate
