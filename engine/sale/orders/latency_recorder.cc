#include "engine/sale/orders/latency_recorder.h"

#include <chrono>
#include <cstddef>
#include <utility>

namespace rushgate {

std::int64_t LatencyRecorder::now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void LatencyRecorder::add(std::int64_t began_ns, std::int64_t ended_ns, std::uint64_t count) {
  const std::int64_t took_ns = ended_ns - began_ns;
  const std::lock_guard lock(mutex_);
  turn_window(ended_ns);
  all_.add(took_ns, count);
  window_.add(took_ns, count);
  sum_ns_ += static_cast<double>(took_ns) * static_cast<double>(count);
}

/// Begins a new window if the present one is over.
void LatencyRecorder::turn_window(std::int64_t now_ns) {
  const std::int64_t passed_ns = now_ns - window_began_ns_;
  if (passed_ns < kWindowNs) return;
  last_window_ = passed_ns < 2 * kWindowNs ? window_ : LatencyHistogram();
  window_ = LatencyHistogram();
  window_began_ns_ = now_ns;
}

LatencyFigures LatencyRecorder::read(std::int64_t now_ns) {
  constexpr double kNsPerSecond = 1e9;
  constexpr auto& kBounds = LatencyFigures::kBoundsNs;
  LatencyFigures figures;
  LatencyHistogram recent;
  {
    const std::lock_guard lock(mutex_);
    turn_window(now_ns);
    figures.count = all_.count();
    figures.sum_s = sum_ns_ / kNsPerSecond;
    all_.for_each_bucket([&](std::int64_t greatest_ns, std::uint64_t count) {
      for (std::size_t i = kBounds.size(); i > 0 && greatest_ns <= kBounds[i - 1]; --i) {
        figures.within[i - 1] += count;
      }
    });
    recent = window_;
    recent.add(last_window_);
  }
  constexpr double kMedian = 50;
  constexpr double kMost = 90;
  constexpr double kNearlyAll = 99;
  constexpr double kSlowest = 99.9;
  figures.recent = {.count = recent.count(),
                    .p50_ns = recent.percentile(kMedian),
                    .p90_ns = recent.percentile(kMost),
                    .p99_ns = recent.percentile(kNearlyAll),
                    .p999_ns = recent.percentile(kSlowest)};
  return figures;
}

}  // namespace rushgate
