// Settings that CONFIG and INFO tell, and that belong to no other part of the engine: limits of
// encodings are the keyspace's, that of scripts is the interpreter's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushgate {

/// latency-tracking-info-percentiles: what INFO tells of how long commands took.
inline constexpr char kLatencyPercentiles[] = "50 99 99.9";

/// Of the server that speaks for the engine. With each the name of its parameter.
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

/// With each the name of its parameter.
struct Settings {
  bool latency_tracking = false;  // latency-tracking: commands are timed, for INFO. It costs each
                                  // some 50 ns. Redis's default is true
};

}  // namespace rushgate
