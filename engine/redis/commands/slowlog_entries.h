// The entries of the slow log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/request.h>

namespace rushgate {

/// A command that took at least slowlog-log-slower-than.
struct SlowlogEntry {
  std::int64_t id = 0;      // ascending, also after clear()
  std::int64_t time_s = 0;  // of its end: s since 1970 UTC
  std::int64_t duration_us = 0;
  std::vector<std::string> arguments;  // as Slowlog::shown() returns them
  std::string address;                 // of the client, and its name
  std::string name;
};

/// Belongs to the thread that holds the turn.
class Slowlog {
 public:
  /// Returns the request's arguments, shortened and without passwords, as Redis shows them.
  static std::vector<std::string> shown(RequestView request);

  /// Adds an entry, whose id is set.
  void add(SlowlogEntry entry);
  /// Removes the oldest entries beyond `count_max`.
  void trim(std::size_t count_max);
  void clear() { entries_.clear(); }

  /// Returns the entries, the newest first.
  [[nodiscard]] const std::deque<SlowlogEntry>& entries() const { return entries_; }

 private:
  std::deque<SlowlogEntry> entries_;
  std::int64_t next_id_ = 0;
};

}  // namespace rushgate
