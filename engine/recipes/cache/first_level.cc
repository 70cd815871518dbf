#include "engine/recipes/cache/first_level.h"

#include <algorithm>
#include <bit>

#include "absl/hash/hash.h"

namespace rushgate {
namespace {

std::size_t hash_of(std::string_view key) { return absl::Hash<std::string_view>{}(key); }

}  // namespace

FirstLevel::FirstLevel(const CacheOptions::FirstLevel& options, const Clock& clock)
    : clock_(clock),
      ttl_ms_(options.ttl_ms),
      mask_(std::bit_floor(std::min(kShardsMax, options.entries_max)) - 1),
      shard_copies_max_(options.entries_max / (mask_ + 1)),
      shard_bytes_max_(options.bytes_max / (mask_ + 1)) {}

/// Refuses copies of an earlier epoch from here on.
void FirstLevel::set_enabled(bool is_enabled) {
  is_enabled_ = is_enabled;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.by_key.clear();
    shard.copies.clear();
    shard.bytes = 0;
    ++shard.epoch;
  }
}

bool FirstLevel::find(std::string_view key, Value& value) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  const std::size_t hash = hash_of(key);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key, hash);
  if (found == shard.by_key.end()) return false;
  const Copies::iterator copy = found->second;
  if (now_ms >= copy->ends_at_ms) {
    erase(shard, copy);
    return false;
  }
  if (copy != shard.copies.begin()) shard.copies.splice(shard.copies.begin(), shard.copies, copy);
  value = copy->value;
  return true;
}

FirstLevel::Epoch FirstLevel::epoch(std::string_view key) {
  Shard& shard = shard_of(hash_of(key));
  const std::lock_guard lock(shard.mutex);
  return shard.epoch;
}

void FirstLevel::keep(std::string_view key, const Value& value, Epoch epoch) {
  const std::size_t bytes = bytes_of(key, value);
  if (bytes > shard_bytes_max_) return;
  const std::int64_t ends_at_ms = clock_.monotonic_ms() + ttl_ms_;
  Copies fresh;
  fresh.push_back({.key = std::string(key), .value = value, .ends_at_ms = ends_at_ms});

  Shard& shard = shard_of(hash_of(key));
  const std::lock_guard lock(shard.mutex);
  if (!is_enabled_ || shard.epoch != epoch) return;
  if (const auto found = shard.by_key.find(key); found != shard.by_key.end()) {
    erase(shard, found->second);
  }
  while (!shard.copies.empty() &&
         (shard.copies.size() >= shard_copies_max_ || shard.bytes + bytes > shard_bytes_max_)) {
    erase(shard, std::prev(shard.copies.end()));
  }
  shard.copies.splice(shard.copies.begin(), fresh);
  shard.by_key.emplace(shard.copies.front().key, shard.copies.begin());
  shard.bytes += bytes;
}

void FirstLevel::remove(std::string_view key) {
  const std::size_t hash = hash_of(key);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  ++shard.epoch;
  if (const auto found = shard.by_key.find(key, hash); found != shard.by_key.end()) {
    erase(shard, found->second);
  }
}

std::size_t FirstLevel::bytes_of(std::string_view key, const Value& value) {
  return key.size() + (value ? value->size() : 0) + kOverheadBytes;
}

void FirstLevel::erase(Shard& shard, Copies::iterator copy) {
  shard.bytes -= bytes_of(copy->key, copy->value);
  shard.by_key.erase(copy->key);
  shard.copies.erase(copy);
}

std::size_t FirstLevel::size() {
  std::size_t size = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    size += shard.copies.size();
  }
  return size;
}

std::size_t FirstLevel::bytes() {
  std::size_t bytes = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    bytes += shard.bytes;
  }
  return bytes;
}

}  // namespace rushgate
