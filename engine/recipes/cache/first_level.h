// Copies of cached values in the memory of the process. Private to this module.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include <rushgate/cache.h>
#include <rushgate/clock.h>

namespace rushgate {

/// Thread-safe. Bounded: a new copy evicts the least recently used one. Disabled at first.
///
/// **Races.** A caller asks for the epoch of a key before it reads the value, and passes it on with
/// the copy. Each removal raises the epoch, and a copy of an earlier epoch is not kept. So no
/// copy that was read before a removal is kept after it.
class FirstLevel {
 public:
  using Value = Cache::Value;
  using Epoch = std::uint64_t;

  FirstLevel(const CacheOptions::FirstLevel& options, const Clock& clock);

  /// Drops all copies. Enable it when removals are reported from now on.
  void set_enabled(bool is_enabled);

  /// Returns true and sets `value` if there is a copy.
  bool find(std::string_view key, Value& value);
  [[nodiscard]] Epoch epoch(std::string_view key);
  void keep(std::string_view key, const Value& value, Epoch epoch);
  void remove(std::string_view key);

  [[nodiscard]] std::size_t size();
  /// Returns the number of bytes counted, which includes kOverheadBytes for each copy.
  [[nodiscard]] std::size_t bytes();
  static constexpr std::size_t kOverheadBytes = 160;

 private:
  struct Copy {
    std::string key;
    Value value;
    std::int64_t ends_at_ms;  // by the monotonic clock
  };
  using Copies = std::list<Copy>;  // the most recently used one first
  static constexpr std::size_t kShardsMax = 16;
  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Shard {
    std::mutex mutex;
    // Guarded by mutex:
    Copies copies;
    absl::flat_hash_map<std::string_view, Copies::iterator> by_key;  // keys of `copies`
    std::size_t bytes = 0;
    Epoch epoch = 0;
  };

  static std::size_t bytes_of(std::string_view key, const Value& value);
  static void erase(Shard& shard, Copies::iterator copy);
  [[nodiscard]] Shard& shard_of(std::size_t hash) { return shards_[hash >> kShardShift & mask_]; }

  static constexpr int kShardShift = 20;  // bits that the tables use less

  const Clock& clock_;
  const std::int64_t ttl_ms_;
  const std::size_t mask_;  // number of shards - 1
  const std::size_t shard_copies_max_;
  const std::size_t shard_bytes_max_;
  std::atomic<bool> is_enabled_{false};
  std::array<Shard, kShardsMax> shards_;
};

}  // namespace rushgate
