// The peer: Debian's redis-server on a unix socket, under the load that it serves best.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/client.h>
#include <rushgate/redis_backend.h>

namespace rushgate::bench {

/// Persistence of the peer, each for the comparable durability.
enum class PeerDurability : std::uint8_t {
  kNone,      // no append-only file            ("memory")
  kEverySec,  // AOF, appendfsync everysec      ("os", "everysec")
  kAlways,    // AOF, appendfsync always        ("sync")
};

/// Kind of requests in the load.
enum class Workload : std::uint8_t {
  kAccepted,       // each request from another user
  kSoldOut,        // without stock
  kAlreadyBought,  // always the same user, after an order
};

/// Runs a server with the seckill script loaded. Throws std::runtime_error if it cannot be used.
/// Not thread-safe.
class RedisPeer {
 public:
  /// A server that rewrites its append-only file is slower meanwhile. A server that does not has a
  /// longer file.
  enum class Rewrites : std::uint8_t { kNone, kByDefault };
  explicit RedisPeer(PeerDurability durability, Rewrites rewrites = Rewrites::kNone);

  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] testing::RedisServer& server() { return server_; }
  [[nodiscard]] const std::string& script_sha() const { return sha_; }

  /// Prepares the keys for the workload, and removes all other keys.
  void prepare(Workload workload);

  /// Makes at least `count` accepted requests of user_id()s. Call prepare() before.
  void sell(std::int64_t count);

  /// Returns requests per second over `count` requests, under the load that try_loads() selected.
  double rate(Workload workload, std::int64_t count);

  /// Tries both drivers with several numbers of connections and pipeline depths, with `requests`
  /// each. Keeps the best load for rate().
  void try_loads(Workload workload, std::int64_t requests);
  /// Returns the load selected by try_loads(): "redis-benchmark, 50 connections, pipeline 32".
  [[nodiscard]] std::string load() const;

  /// Returns a field of INFO, 0 if it does not exist.
  [[nodiscard]] double info(const std::string& field);
  /// Returns a note on rewrites of the append-only file.
  [[nodiscard]] std::string rewrites();

 private:
  struct Load {
    bool is_hiredis;  // else redis-benchmark
    int connections;
    int pipeline;
  };

  double rate_of(const Load& load, Workload workload, std::int64_t count);
  double rate_by_hiredis(const Load& load, Workload workload, std::int64_t count);

  testing::RedisServer server_;
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Client> client_;
  std::string sha_;
  Load load_{.is_hiredis = false, .connections = 50, .pipeline = 32};
  std::int64_t next_user_ = 1;
};

}  // namespace rushgate::bench
