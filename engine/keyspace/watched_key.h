// A key as WATCH saw it: https://redis.io/docs/latest/develop/interact/transactions/
#pragma once

#include <cstdint>
#include <string>

namespace rushgate {

/// Made by Database::watch(), and given back to Database::unwatch(). A value type.
struct WatchedKey {
  std::uint8_t db = 0;
  std::string key;
  bool was_there = false;
  std::uint64_t object_id = 0;  // of what was there,
  std::uint64_t revision = 0;   // and how often that had been changed
  std::uint64_t creations = 0;  // if nothing was there: how often it had been, since it is watched
};

}  // namespace rushgate
