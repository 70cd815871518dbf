// The masters of a Redis Cluster and the connections to them. Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "adapters/redis/cluster_map.h"
#include "adapters/redis/cluster_map_finder.h"
#include "adapters/redis/pauses.h"
#include "adapters/redis/redis_core.h"
#include "adapters/redis/redis_runtime.h"
#include "adapters/redis/redis_servers.h"
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Has a RedisCore for each master of the map, and for addresses that redirects name. Once a node is
/// no master any more, its connections end: if it becomes one again, new ones are checked again.
class ClusterServers final : public RedisServers,
                             public std::enable_shared_from_this<ClusterServers> {
 public:
  /// Is told of each map that was looked at, also of one like the last.
  class MapObserver {
   public:
    /// Called on the I/O thread.
    virtual void map_changed() = 0;

   protected:
    ~MapObserver() = default;
  };

  explicit ClusterServers(std::shared_ptr<RedisRuntime> runtime);
  ~ClusterServers() override;

  absl::Status start() override;
  void close() override;
  void join_checks() override;
  std::shared_ptr<ClientSession> open_session(const ClientOptions& options) override;
  [[nodiscard]] absl::Status health() override;

  // ---- For sessions; thread-safe ----

  [[nodiscard]] RedisRuntime& runtime() { return *runtime_; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  /// Returns the master of a slot; null if there is none.
  [[nodiscard]] std::shared_ptr<RedisCore> owner(int slot);
  /// Returns the node at `address`.
  [[nodiscard]] std::shared_ptr<RedisCore> node_at(const RedisAddress& address);
  /// Returns a master, if possible one that replies; null if there is none.
  [[nodiscard]] std::shared_ptr<RedisCore> any_master();
  [[nodiscard]] std::vector<std::shared_ptr<RedisCore>> masters();
  /// Return the errors of requests that have no node: their slot has no master, or there is none.
  [[nodiscard]] std::string without_owner(int slot);
  [[nodiscard]] std::string without_master();

  /// Takes over from a redirect that the master at `address` serves a slot.
  void note_moved(int slot, const RedisAddress& address);
  /// Notes that a redirect contradicts the map, and has no address.
  void note_redirect();
  /// Looks at the map, then calls `then` on the I/O thread. If the last look was just before and nothing
  /// contradicts it, calls `then` first. After close(), calls it at once.
  void refresh(absl::AnyInvocable<void()> then);
  /// Looks at the map soon: something does not fit it.
  void doubt_map();
  /// Tells `observer` of maps until it is destroyed.
  void add_observer(std::weak_ptr<MapObserver> observer);
  /// Calls `then` on the I/O thread after the pause, or when the backend is closed.
  void after(std::int64_t pause_ms, absl::AnyInvocable<void()> then);

 private:
  struct Node {
    std::string id;  // empty: not known
    std::shared_ptr<RedisCore> core;
    std::shared_future<absl::Status> connected;  // the result of the first attempt
    std::int64_t named_ms = -1;                  // when a redirect last named it
    std::string write_key = {};                  // in one of its slots
    int write_key_tag = 0;                       // in its name
  };
  struct Retired {
    std::shared_ptr<RedisCore> core;
    std::int64_t since_ms = 0;
  };

  void accept(const ClusterMap& map);
  void look_at_map();
  [[nodiscard]] std::string write_key(const RedisAddress& address);
  void change_write_key(const RedisAddress& address);
  // Require mutex_:
  [[nodiscard]] Node& node_of(const ClusterMap::Master& master);
  [[nodiscard]] std::vector<std::shared_ptr<RedisCore>> retire_all_but(const ClusterMap& map);

  const std::shared_ptr<RedisRuntime> runtime_;
  ClusterMapFinder finder_;  // the I/O thread's
  const std::shared_ptr<Pauses> pauses_;
  std::int64_t map_ms_ = 0;  // when the last map came; the I/O thread's
  std::atomic<bool> is_closed_{false};

  std::mutex mutex_;
  // ---- Guarded by mutex_ ----
  ClusterMap map_;
  std::string map_problem_ = "the map of the cluster's slots is not known yet";
  bool is_contradicted_ = false;  // by a redirect since the last look
  std::map<RedisAddress, Node> nodes_;
  std::vector<Retired> retired_;
  std::vector<std::weak_ptr<MapObserver>> observers_;
  std::vector<absl::AnyInvocable<void()>> refreshing_;  // wait for a look at the map
};

}  // namespace rushgate
