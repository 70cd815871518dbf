// All that the engine holds in memory: sixteen databases, the current time as scripts see it, and
// the changeset of the current group.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/random.h"
#include "engine/keyspace/changes.h"
#include "engine/keyspace/database.h"
#include "engine/keyspace/encoding_limits.h"
#include "engine/keyspace/lazy_free.h"
#include "engine/keyspace/stream_cache.h"
#include "engine/store/store.h"

namespace rushgate {

enum class KeySignal : std::uint8_t {
  kReady,  // the object was created or moved to its key, or has grown
  kGone,   // it leaves its key, or has lost what somebody may be waiting for
};

/// What Database::find() met, and what came of keys whose time was up.
struct KeyCounts {
  std::uint64_t found = 0;
  std::uint64_t missing = 0;
  std::uint64_t expired = 0;
};

/// Told of keys on which somebody may be waiting. Called inside the turn.
class KeyListener {
 public:
  virtual ~KeyListener() = default;
  /// Whoever waits for the key is to look at it once the command or script is over.
  virtual void key_signalled(std::uint8_t db, std::string_view key, KeySignal what) = 0;
  /// Returns false if no key is waited for.
  [[nodiscard]] virtual bool listens() const { return true; }
};

/// Not thread-safe: it belongs to whoever has the turn. Does not own the store, which must outlive
/// it.
class Keyspace {
 public:
  static constexpr std::size_t kDatabases = 16;

  /// `seed` determines the order in which tables are iterated, and what is drawn at random.
  Keyspace(Store& store, std::uint64_t seed);
  ~Keyspace();
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;

  /// Fills an empty keyspace from the store. kDataLoss names the first record that makes no sense.
  absl::Status load();

  [[nodiscard]] Database& db(std::size_t number) { return *databases_[number]; }
  [[nodiscard]] Changes& changes() { return changes_; }
  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Frees large values that were removed.
  [[nodiscard]] LazyFree& lazy_free() { return lazy_free_; }
  [[nodiscard]] const LazyFree& lazy_free() const { return lazy_free_; }
  /// What streams keep in memory of what the store has.
  [[nodiscard]] StreamCaches& stream_caches() { return stream_caches_; }
  /// What memory_count.h counts, what the store holds in memory, what streams cache, and what is
  /// about to be freed.
  [[nodiscard]] std::size_t memory_bytes() { return kept_bytes() + lazy_free_.bytes_pending(); }
  /// The same, without what is about to be freed.
  [[nodiscard]] std::size_t kept_bytes() {
    return changes_.memory().bytes() + store_.memory_bytes() + stream_caches_.bytes();
  }
  /// Returns true if memory_bytes() is above `bytes_max`. Before that it drops caches, and waits
  /// for values that are about to be freed, but not longer than LazyFree::kWaitMax. Not while a
  /// stream is read.
  [[nodiscard]] bool needs_more_than(std::size_t bytes_max);
  /// For elements that are drawn at random.
  [[nodiscard]] Random& random() { return random_; }

  [[nodiscard]] const EncodingLimits& limits() const { return limits_; }
  /// What has outgrown the limits of now stays large under any others.
  void set_limits(const EncodingLimits& limits);

  /// The time that commands see: ms since 1970 UTC. It stands still between calls of set_now_ms().
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void set_now_ms(std::int64_t now_ms) { now_ms_ = now_ms; }

  [[nodiscard]] KeyCounts& counts() { return counts_; }

  /// Writes the changeset to the store and forgets it. On failure everything it did in memory is
  /// undone; what the store kept is not known then, so nothing may be committed after it. If it
  /// throws, for want of memory, everything is undone too, and nothing was kept.
  absl::Status commit();

  /// Removes up to `count_max` keys whose time is up, over all databases. How many.
  std::size_t remove_expired(std::size_t count_max);
  [[nodiscard]] std::optional<std::int64_t> next_expiry_ms() const;

  /// FLUSHALL.
  void remove_all();
  /// Returns true if no other database holds a key.
  [[nodiscard]] bool is_all_in(const Database& database) const;

  /// A name for a new object's records.
  std::uint64_t next_object_id() { return next_object_id_++; }

  /// May be null; is not owned.
  void set_listener(KeyListener* listener) { listener_ = listener; }
  /// To be called by mutators, whatever the type is. (They need not tell of a list or sorted set
  /// that grows: nobody waits for one that is there.)
  void signal(const Object& object, KeySignal what);
  /// Returns false if signal() would have no effect, whatever it is called with.
  [[nodiscard]] bool may_signal() const { return listener_ != nullptr && listener_->listens(); }

 private:
  absl::Status find_next_object_id(std::uint64_t largest_loaded);

  Store& store_;
  const std::uint64_t seed_;
  Random random_;
  EncodingLimits limits_;
  std::int64_t now_ms_ = 0;
  std::uint64_t next_object_id_ = 1;
  KeyCounts counts_;
  KeyListener* listener_ = nullptr;
  LazyFree lazy_free_;
  StreamCaches stream_caches_;
  Changes changes_;  // its undo steps refer to databases_: ~Keyspace() drops them first
  std::array<std::unique_ptr<Database>, kDatabases> databases_;
};

}  // namespace rushgate
