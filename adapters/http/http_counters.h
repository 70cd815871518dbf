// Counts replies while they are sent.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "adapters/http/route.h"
#include "adapters/metrics/http_figures.h"
#include "engine/sale/orders/latency_recorder.h"

namespace rushgate::http {

/// Thread-safe.
class HttpCounters {
 public:
  HttpCounters();

  /// Counts the reply to a request that came at `began_ns` (LatencyRecorder::now_ns()). `route` is null
  /// for an unknown one.
  void add(const Route* route, int status, std::int64_t began_ns);
  /// Returns the figures of routes and lanes, except for what waits.
  [[nodiscard]] HttpFigures read();

 private:
  using Replies = std::array<std::atomic<std::uint64_t>, 6>;  // by the first digit of the status

  std::vector<Replies> replies_;  // of each route, and of unknown ones
  std::array<LatencyRecorder, kLanes.size()> latencies_;
};

}  // namespace rushgate::http
