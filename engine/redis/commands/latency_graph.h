// The picture of LATENCY GRAPH.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/redis/commands/latency_events.h"

namespace rushgate {

/// Draws the samples of an event as Redis does: a column for each sample, with its age below it.
std::string latency_graph(std::string_view name, const LatencyEvent& event, std::int64_t now_s);

}  // namespace rushgate
