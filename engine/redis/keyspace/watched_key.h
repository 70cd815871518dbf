// The state of a key at WATCH: https://redis.io/docs/latest/develop/interact/transactions/
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rushgate {

/// Created by Database::watch() and passed to Database::unwatch(). A value type.
struct WatchedKey {
  std::uint8_t db = 0;
  std::string key;
  bool was_there = false;
  std::uint64_t object_id = 0;  // of the object at the key,
  std::uint64_t revision = 0;   // and its revision
  std::uint64_t creations = 0;  // if there was no object: how many were created since

  /// By database and key.
  struct Order {
    using is_transparent = void;
    using Place = std::pair<std::uint8_t, std::string_view>;
    static Place place(const Place& place) { return place; }
    static Place place(const WatchedKey& watched) { return {watched.db, watched.key}; }
    bool operator()(const auto& left, const auto& right) const {
      return place(left) < place(right);
    }
  };
};

}  // namespace rushgate
