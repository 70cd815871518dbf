// The masters of a Redis Cluster and their replicas, for one test or suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

struct RedisClusterOptions {
  std::size_t masters = 3;
  std::size_t replicas = 1;                 // of each master
  std::vector<std::string> arguments = {};  // also passed to each redis-server
  /// As RedisServerOptions::manual_clock. The clock runs until the nodes know each other. Afterwards no node
  /// fails in the opinion of others, whatever the time.
  bool manual_clock = false;
};

/// Real processes on ports of 127.0.0.1. Masters have about as many slots each, in order. A silent node
/// fails after kNodeTimeoutMs, and the others go on (cluster-require-full-coverage no). All end
/// with the thread that created this object. Not thread-safe. Throws std::runtime_error if
/// something does not happen in time.
class RedisCluster {
 public:
  static constexpr int kNodeTimeoutMs = 500;

  /// Returns when all nodes know each other and all slots.
  explicit RedisCluster(const RedisClusterOptions& options = {});

  /// Returns redis-cluster://…, which RedisOptions::from_url() accepts.
  [[nodiscard]] std::string url() const;
  /// Returns a node: first the masters, then the replicas of each, as they were at the beginning.
  [[nodiscard]] RedisServer& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

  /// Returns the master of a slot in the opinion of node `index`.
  [[nodiscard]] RedisServer& owner(int slot, std::size_t index = 0);
  /// Returns the master of the key's slot.
  [[nodiscard]] RedisServer& owner_of(const std::string& key, std::size_t index = 0);
  /// Returns another master than `other`.
  [[nodiscard]] RedisServer& master_beside(const RedisServer& other);
  [[nodiscard]] RedisServer& replica_of(const RedisServer& master);
  /// Returns the id of a node.
  [[nodiscard]] static std::string id(const RedisServer& node);

  /// Returns when another node than `old` is the master of the slot in the opinion of all others.
  void wait_for_other_owner(int slot, const RedisServer& old);
  /// Makes the replica of `master` its successor, without any fault. Returns when all nodes know it.
  void fail_over(RedisServer& master);
  /// Begins to move a slot: `from` sends clients for missing keys to `to`.
  void begin_move(int slot, RedisServer& from, RedisServer& to);
  /// Moves the keys that are left, and ends the move on all nodes.
  void end_move(int slot, RedisServer& from, RedisServer& to);
  /// Returns when all nodes run, know all slots and agree on their masters, and all replicas are in sync.
  void heal();
  /// Deletes all keys.
  void flush_all();
  /// Sets the time of day of all nodes.
  void set_now_ms(std::int64_t now_ms);
  void wait_until(const std::string& what, const std::function<bool()>& is_done);

 private:
  [[nodiscard]] std::vector<std::string> start(const RedisClusterOptions& options);
  [[nodiscard]] bool is_whole();

  std::int64_t running_ms_ = 0;  // a manual clock that runs; 0: none

  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace rushgate::testing
