// What the HTTP server counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <rushgate/purchase_statistics.h>

namespace rushgate {

struct HttpFigures {
  /// The replies of a route, by the first digit of their status.
  struct Route {
    std::string_view method;
    std::string_view path;  // as in the table of routes; "" for unknown ones
    std::array<std::uint64_t, 6> replies = {};
  };
  /// The requests that run in one place, and how long their clients waited for the reply: from the end
  /// of the request to the beginning of the reply.
  struct Lane {
    std::string_view name;
    std::size_t waiting = 0;  // for a thread
    LatencyFigures latency = {};
  };

  std::size_t connections = 0;
  std::size_t event_streams = 0;
  std::uint64_t refused_connections = 0;  // for their number
  std::vector<Route> routes = {};         // those with replies
  std::vector<Lane> lanes = {};
};

}  // namespace rushgate
