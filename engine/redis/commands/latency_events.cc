#include "engine/redis/commands/latency_events.h"

#include <algorithm>
#include <utility>

#include "engine/redis/commands/arguments.h"

namespace rushgate {

void LatencyEvents::add(std::string_view event, const LatencySample& sample) {
  const auto found = events_.find(std::string(event));
  if (found == events_.end()) {
    LatencyEvent made{.samples = {sample}, .ms_max = sample.ms};
    events_.emplace(event, std::move(made));
    return;
  }
  LatencyEvent& known = found->second;
  LatencySample& newest = known.samples.back();
  if (newest.time_s == sample.time_s) {
    newest.ms = std::max(newest.ms, sample.ms);
  } else {
    known.samples.push_back(sample);
    if (known.samples.size() > kSamplesMax) known.samples.pop_front();
  }
  known.ms_max = std::max(known.ms_max, sample.ms);
}

const LatencyEvent* LatencyEvents::find(std::string_view event) const {
  const auto found = events_.find(std::string(event));
  return found == events_.end() ? nullptr : &found->second;
}

bool LatencyEvents::reset(std::string_view event) {
  return absl::erase_if(events_,
                        [event](const auto& known) { return is_keyword(event, known.first); }) > 0;
}

std::size_t LatencyEvents::reset_all() {
  const std::size_t count = events_.size();
  events_.clear();
  return count;
}

}  // namespace rushgate
