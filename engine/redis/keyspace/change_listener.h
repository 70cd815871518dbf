// Receives the changes of keys, for client-side caching.
#pragma once

#include <cstdint>
#include <string_view>

namespace rushgate {

enum class ChangeCause : std::uint8_t { kRequest, kExpiry };

/// Called inside the turn, possibly several times for one change, and also for changes that are
/// rolled back later. May throw (out of memory); the change is rolled back then.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  /// Reports a change that Redis's WATCH would see, in any database.
  virtual void key_changed(std::string_view key, ChangeCause cause) = 0;
  /// Reports FLUSHDB or FLUSHALL.
  virtual void keys_flushed() = 0;
};

}  // namespace rushgate
