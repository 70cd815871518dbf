// What differs between a RedisBackend of one server and of a cluster. Private to this module.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "adapters/redis/redis_client.h"
#include <rushgate/client.h>

namespace rushgate {

inline constexpr std::string_view kClosedText = "the backend is closed";

/// The servers of a backend. Thread-safe, except for the methods that say where they run.
class RedisServers {
 public:
  virtual ~RedisServers() = default;

  /// Connects. Call it once, first, not on the I/O thread.
  virtual absl::Status start() = 0;
  /// Ends everything. On the I/O thread.
  virtual void close() = 0;
  /// Blocks until no check is running. After close(), when the I/O thread has ended.
  virtual void join_checks() = 0;

  [[nodiscard]] virtual std::shared_ptr<ClientSession> open_session(
      const ClientOptions& options) = 0;
  /// Returns why requests cannot succeed.
  [[nodiscard]] virtual absl::Status health() = 0;
};

}  // namespace rushgate
