// Settings that CONFIG and INFO tell, and that belong to no part of the engine: limits of encodings
// are the keyspace's, that of scripts is the interpreter's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// latency-tracking-info-percentiles: what INFO tells of how long commands took.
inline constexpr char kLatencyPercentiles[] = "50 99 99.9";

/// With each the name of its parameter.
struct Settings {
  std::uint16_t port = 0;            // port: of a server that speaks for the engine; 0: none
  std::size_t clients_max = 10'000;  // maxclients
  bool latency_tracking = false;  // latency-tracking: commands are timed, for INFO. It costs each
                                  // some 50 ns. Redis's default is true
};

}  // namespace rushgate
