// The newest orders of a process, by user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/hash/hash.h"
#include <rushgate/voucher.h>

namespace rushgate {

/// Remembers an order for each of the newest buyers. A newer order takes the place of an older one.
/// Thread-safe.
class RecentOrders {
 public:
  /// 2 MiB, and the names of users.
  static constexpr std::size_t kOrdersMax = 65'536;

  void add(VoucherId voucher, const UserId& user, OrderId order) {
    const std::uint64_t hash = hash_of(voucher, user);
    Shard& shard = shards_[hash % kShards];
    const std::lock_guard lock(shard.mutex);
    shard.entries[hash / kShards % kShardOrders] = {voucher, user, order};
  }

  /// Returns the newest order of this user and voucher; 0 if none is remembered.
  [[nodiscard]] OrderId find(VoucherId voucher, const UserId& user) const {
    const std::uint64_t hash = hash_of(voucher, user);
    const Shard& shard = shards_[hash % kShards];
    const std::lock_guard lock(shard.mutex);
    const Entry& entry = shard.entries[hash / kShards % kShardOrders];
    return entry.voucher == voucher && entry.user == user ? entry.order : 0;
  }

  void clear() {
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      shard.entries = {};
    }
  }

 private:
  static constexpr std::size_t kShards = 64;  // so that callers rarely meet
  static constexpr std::size_t kShardOrders = kOrdersMax / kShards;

  struct Entry {
    VoucherId voucher = 0;
    UserId user = {};
    OrderId order = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::array<Entry, kShardOrders> entries;  // guarded by mutex
  };

  static std::uint64_t hash_of(VoucherId voucher, const UserId& user) {
    constexpr std::uint64_t kMix = 0x9E37'79B9'7F4A'7C15;
    const std::uint64_t mixed =
        (number_of(user) * kMix ^ static_cast<std::uint64_t>(voucher)) * kMix;
    return mixed >> 32U;
  }

  static std::uint64_t number_of(const UserId& user) {
    return user.is_number() ? static_cast<std::uint64_t>(user.number()) : absl::HashOf(user);
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace rushgate
