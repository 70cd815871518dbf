#include "adapters/http/http_counters.h"

#include <algorithm>

namespace rushgate::http {

HttpCounters::HttpCounters() : replies_(routes().size() + 1) {}

void HttpCounters::add(const Route* route, int status, std::int64_t began_ns) {
  constexpr int kClass = 100;
  const std::size_t row =
      route == nullptr ? routes().size() : static_cast<std::size_t>(route - routes().data());
  const auto digit = static_cast<std::size_t>(std::clamp(status / kClass, 0, 5));
  replies_[row][digit].fetch_add(1, std::memory_order_relaxed);
  const Lane lane = route == nullptr ? Lane::kNow : route->lane;
  latencies_[static_cast<std::size_t>(lane)].add(began_ns, LatencyRecorder::now_ns());
}

HttpFigures HttpCounters::read() {
  HttpFigures figures;
  for (std::size_t row = 0; row < replies_.size(); ++row) {
    HttpFigures::Route counts;
    if (row < routes().size()) {
      counts.method = routes()[row].method;
      counts.path = routes()[row].path;
    }
    for (std::size_t digit = 0; digit < counts.replies.size(); ++digit) {
      counts.replies[digit] = replies_[row][digit].load(std::memory_order_relaxed);
    }
    if (std::ranges::any_of(counts.replies, [](std::uint64_t count) { return count > 0; })) {
      figures.routes.push_back(counts);
    }
  }
  const std::int64_t now_ns = LatencyRecorder::now_ns();
  for (const Lane lane : kLanes) {
    figures.lanes.push_back({.name = lane_name(lane),
                             .latency = latencies_[static_cast<std::size_t>(lane)].read(now_ns)});
  }
  return figures;
}

}  // namespace rushgate::http
