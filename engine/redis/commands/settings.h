// Settings for CONFIG and INFO that belong to no other module. (The limits of encodings are the
// keyspace's; the time limit of scripts is the interpreter's.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "engine/core/base/shared_value.h"

namespace rushgate {

/// Linux takes no longer tcp-keepalive.
inline constexpr std::int64_t kTcpKeepaliveMaxS = 32'767;
/// No string is ever longer, for any proto-max-bulk-len.
inline constexpr std::size_t kStringBytesMax = 512ULL * 1024 * 1024;

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
  std::string latency_percentiles = "50 99 99.9";              // latency-tracking-info-percentiles
  SharedValue<std::size_t> string_bytes_max{kStringBytesMax};  // proto-max-bulk-len; any thread
                                                               // may read it
  std::int64_t tracked_keys_max = 1'000'000;  // tracking-table-max-keys; 0: no bound

  /// The values of parameters without effect that were set, by name.
  std::map<std::string, std::string, std::less<>> without_effect = {};
  std::int64_t slowlog_log_slower_than_us = -1;   // slowlog-log-slower-than; negative: off.
                                                  // Redis's default is 10,000
  std::int64_t slowlog_max_len = 128;             // slowlog-max-len
  std::int64_t latency_monitor_threshold_ms = 0;  // latency-monitor-threshold; 0: off
  bool debug_commands = false;                    // enable-debug-command
  bool removes_expired = true;                    // DEBUG SET-ACTIVE-EXPIRE
  bool skips_checksums = false;                   // DEBUG SET-SKIP-CHECKSUM-VALIDATION

  /// Returns true if a setting needs the duration of commands.
  [[nodiscard]] bool times_commands() const {
    return latency_tracking || slowlog_log_slower_than_us >= 0 || latency_monitor_threshold_ms > 0;
  }
};

}  // namespace rushgate
