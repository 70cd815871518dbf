// A master, its replicas and their sentinels, for one test.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

struct SentinelGroupOptions {
  std::size_t replicas = 2;
  std::size_t sentinels = 3;
  std::vector<std::string> arguments = {};  // also passed to each redis-server
};

/// Real processes on ports of 127.0.0.1. The sentinels notice a silent master after a few tenths of a
/// second. All end with the thread that created this object. Not thread-safe. Throws
/// std::runtime_error if something does not happen in time.
class SentinelGroup {
 public:
  static constexpr const char* kMaster = "shop";

  /// Returns when the sentinels know each other and all replicas.
  explicit SentinelGroup(const SentinelGroupOptions& options = {});

  /// Returns redis-sentinel://…, which RedisOptions::from_url() accepts.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] RedisServer& sentinel(std::size_t index) { return *sentinels_[index]; }
  [[nodiscard]] std::size_t sentinels() const { return sentinels_.size(); }
  [[nodiscard]] RedisServer& server(std::size_t index) { return *servers_[index]; }
  [[nodiscard]] std::size_t servers() const { return servers_.size(); }

  /// Returns the master that sentinel `index` names.
  [[nodiscard]] RedisServer& master(std::size_t index = 0);

  /// Returns when sentinel `index` names another master than `old`.
  void wait_for_other_master(const RedisServer& old, std::size_t index = 0);
  /// Asks a sentinel for a failover without any fault, until there is another master.
  void fail_over();
  /// Returns when all servers and sentinels are running and all sentinels name one master that the other
  /// servers replicate. They must not be paused.
  void heal();

 private:
  void start_sentinel();
  void wait_until(const std::string& what, const std::function<bool()>& is_done);
  [[nodiscard]] bool is_complete(std::size_t sentinel);
  [[nodiscard]] bool is_healed();

  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

/// Sends a request to a server by a connection of its own. Throws std::runtime_error.
Reply ask(const RedisServer& server, const Request& request);

/// Returns the number behind `field` in INFO, or -1.
std::int64_t info_number(const RedisServer& server, std::string_view field);

}  // namespace rushgate::testing
