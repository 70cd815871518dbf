// Totals of a RedisBackend since it was opened, for metrics.
#pragma once

#include <cstdint>

namespace rushgate {

/// A value type.
struct RedisCounters {
  std::uint64_t connects = 0;          // connections that became usable
  std::uint64_t reconnects = 0;        // of them, replacements of a lost one
  std::uint64_t connect_failures = 0;  // attempts that failed, refused servers included
  std::uint64_t losses = 0;            // usable connections that ended without being closed here
  std::uint64_t requests = 0;          // submitted by clients; a pipeline counts all of its own
  std::uint64_t writes = 0;            // system calls that sent requests
  std::uint64_t timeouts = 0;          // connections given up because the server was silent
  std::uint64_t expired = 0;           // submissions that had not begun in time (TIMEDOUT)
  std::uint64_t overloads = 0;  // submissions refused because the queue was full (OVERLOADED)
  std::uint64_t breaker_openings = 0;  // times that the server became known as dead
  std::uint64_t breaker_refusals = 0;  // submissions that failed at once because it was
  std::uint64_t resubscriptions = 0;   // subscribed connections that were replaced
};

}  // namespace rushgate
