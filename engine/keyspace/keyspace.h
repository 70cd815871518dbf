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
#include "engine/keyspace/changes.h"
#include "engine/keyspace/database.h"
#include "engine/keyspace/encoding_limits.h"
#include "engine/store/store.h"

namespace rushgate {

/// Told of keys on which somebody may be waiting. Called inside the turn.
class KeyListener {
 public:
  virtual ~KeyListener() = default;
  /// A stream at `key` was appended to, a group of it was destroyed, or the key was created,
  /// removed or replaced.
  virtual void key_signalled(std::uint8_t db, std::string_view key) = 0;
};

/// Not thread-safe: it belongs to whoever has the turn. Does not own the store, which must outlive
/// it.
class Keyspace {
 public:
  static constexpr std::size_t kDatabases = 16;

  /// `seed` determines the order in which tables are iterated.
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

  [[nodiscard]] const EncodingLimits& limits() const { return limits_; }
  /// What has outgrown the limits of now stays large under any others.
  void set_limits(const EncodingLimits& limits);

  /// The time that commands see: ms since 1970 UTC. It stands still between calls of set_now_ms().
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void set_now_ms(std::int64_t now_ms) { now_ms_ = now_ms; }

  /// Writes the changeset to the store and forgets it. On failure everything it did in memory is
  /// undone; what the store kept is not known then, so nothing may be committed after it.
  absl::Status commit();

  /// Removes up to `count_max` keys whose time is up, over all databases. How many.
  std::size_t remove_expired(std::size_t count_max);
  [[nodiscard]] std::optional<std::int64_t> next_expiry_ms() const;

  /// FLUSHALL.
  void remove_all();

  /// A name for a new object's records.
  std::uint64_t next_object_id() { return next_object_id_++; }

  /// May be null; is not owned.
  void set_listener(KeyListener* listener) { listener_ = listener; }
  void signal(std::uint8_t db, std::string_view key) {
    if (listener_ != nullptr) listener_->key_signalled(db, key);
  }

 private:
  Store& store_;
  const std::uint64_t seed_;
  EncodingLimits limits_;
  std::int64_t now_ms_ = 0;
  std::uint64_t next_object_id_ = 1;
  KeyListener* listener_ = nullptr;
  Changes changes_;  // before databases_: its undo steps refer to them, and are dropped last
  std::array<std::unique_ptr<Database>, kDatabases> databases_;
};

}  // namespace rushgate
