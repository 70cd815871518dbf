// The peer: Debian's redis-server on a unix socket, driven by whatever serves it best.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adapters/redis/redis_backend.h"
#include "engine/client/client.h"
#include "tests/redis_server/redis_server.h"

namespace rushgate::bench {

/// How the peer keeps its data: what the durability compared corresponds to.
enum class PeerDurability : std::uint8_t {
  kNone,      // no append-only file            ("memory")
  kEverySec,  // AOF, appendfsync everysec      ("os", "everysec")
  kAlways,    // AOF, appendfsync always        ("sync")
};

/// What the load asks for.
enum class Workload : std::uint8_t {
  kAccepted,       // each request another user's
  kSoldOut,        // there is no stock
  kAlreadyBought,  // always the same user, who has bought
};

/// A server with the seckill script loaded. Throws std::runtime_error if it can't be used. Not
/// thread-safe.
class RedisPeer {
 public:
  /// A server that rewrites its append-only file serves others less well meanwhile; one that does
  /// not keeps a longer file.
  enum class Rewrites : std::uint8_t { kNone, kByDefault };
  explicit RedisPeer(PeerDurability durability, Rewrites rewrites = Rewrites::kNone);

  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] testing::RedisServer& server() { return server_; }
  [[nodiscard]] const std::string& script_sha() const { return sha_; }

  /// Brings the keys into the state that the workload wants; other keys go.
  void prepare(Workload workload);

  /// `count` accepted requests of user_id()s, or a few more. After prepare().
  void sell(std::int64_t count);

  /// Requests answered a second over `count` requests, driven as try_loads() found best.
  double rate(Workload workload, std::int64_t count);

  /// Tries numbers of connections, depths of pipeline, and both drivers with `requests` each, and
  /// keeps the best for rate().
  void try_loads(Workload workload, std::int64_t requests);
  /// What try_loads() chose: "redis-benchmark, 50 connections, pipeline 32".
  [[nodiscard]] std::string load() const;

  /// A field of INFO, 0 if it is not there.
  [[nodiscard]] double info(const std::string& field);
  /// For a note: whether the append-only file was rewritten meanwhile.
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
