// Settings for CONFIG and INFO that belong to no other module. (The limits of encodings are the
// keyspace's; the time limit of scripts is the interpreter's.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// latency-tracking-info-percentiles: the percentiles that INFO shows.
inline constexpr char kLatencyPercentiles[] = "50 99 99.9";

/// Settings of the server in front of the engine, each with the name of its parameter.
struct ServerSettings {
  std::uint16_t port = 0;              // port; 0: none
  std::size_t clients_max = 10'000;    // maxclients
  std::int64_t idle_timeout_s = 0;     // timeout
  std::int64_t tcp_keepalive_s = 300;  // tcp-keepalive

  std::size_t query_bytes_max = std::size_t{1} << 30;    // client-query-buffer-limit
  std::size_t clients_bytes_max = std::size_t{2} << 30;  // maxmemory-clients
  // client-output-buffer-limit normal and pubsub
  std::size_t output_bytes_max = std::size_t{1} << 30;
  std::size_t subscriber_bytes_max = 32 * 1'024 * 1'024;
  std::size_t subscriber_soft_bytes_max = 8 * 1'024 * 1'024;
  std::int64_t subscriber_soft_s = 60;
};

/// Each with the name of its parameter.
struct Settings {
  bool latency_tracking = false;  // latency-tracking: measures commands for INFO, at about 50 ns
                                  // per command. Redis's default is true
};

}  // namespace rushgate
