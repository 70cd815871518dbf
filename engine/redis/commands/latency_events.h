// The events of the latency monitor: commands that reached latency-monitor-threshold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"

namespace rushgate {

struct LatencySample {
  std::int64_t time_s;  // since 1970 UTC
  std::int64_t ms;      // the longest duration of this second
};

struct LatencyEvent {
  std::deque<LatencySample> samples;  // not empty; the newest is the last
  std::int64_t ms_max = 0;            // since the event's last reset
};

/// Belongs to the thread that holds the turn.
class LatencyEvents {
 public:
  static constexpr std::size_t kSamplesMax = 160;  // of each event, as in Redis

  /// Adds a sample. The samples of one second are one, the longest. The oldest sample beyond
  /// kSamplesMax is removed. There are as many events as different names.
  void add(std::string_view event, const LatencySample& sample);

  /// Returns an event; null if there is none.
  [[nodiscard]] const LatencyEvent* find(std::string_view event) const;
  [[nodiscard]] const absl::btree_map<std::string, LatencyEvent>& all() const { return events_; }

  /// Removes an event, in any case. Returns false if there was none.
  bool reset(std::string_view event);
  /// Removes all events and returns their number.
  std::size_t reset_all();

 private:
  absl::btree_map<std::string, LatencyEvent> events_;
};

}  // namespace rushgate
