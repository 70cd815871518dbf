// Latencies that several threads record.
#pragma once

#include <cstdint>
#include <mutex>

#include "engine/core/base/latency_histogram.h"
#include <rushgate/purchase_statistics.h>

namespace rushgate {

/// Thread-safe.
class LatencyRecorder {
 public:
  /// Returns the monotonic time for add() and read().
  static std::int64_t now_ns();

  /// Records `count` requests that began and ended at these times.
  void add(std::int64_t began_ns, std::int64_t ended_ns, std::uint64_t count = 1);
  [[nodiscard]] LatencyFigures read(std::int64_t now_ns);

 private:
  static constexpr std::int64_t kWindowNs = 10'000'000'000;

  void turn_window(std::int64_t now_ns);

  std::mutex mutex_;  // guards the members below
  LatencyHistogram all_;
  double sum_ns_ = 0;
  std::int64_t window_began_ns_ = 0;
  LatencyHistogram window_;       // since window_began_ns_
  LatencyHistogram last_window_;  // of the kWindowNs before
};

}  // namespace rushgate
