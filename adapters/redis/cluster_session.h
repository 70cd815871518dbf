// A client's access to the nodes of a Redis Cluster. Private to this module.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "adapters/redis/cluster_part.h"
#include "adapters/redis/cluster_servers.h"
#include "adapters/redis/cluster_subscriptions.h"
#include "adapters/redis/redis_client.h"
#include "adapters/redis/redis_session.h"
#include <rushgate/client.h>

namespace rushgate {

/// Sends each part of a submission to its node by a RedisSession, and again where a redirect leads.
/// Thread-safe.
///
/// Keeps the order of the requests for one slot. Once one of them must be sent again, or to another
/// node than those under way, the slot is gated: later ones wait until those already sent have their
/// replies, and all that must be sent again are, in their order. Blocking commands, which may last,
/// wait for a gate, but no gate waits for them.
class ClusterSession final : public ClientSession,
                             public std::enable_shared_from_this<ClusterSession> {
 public:
  ClusterSession(std::shared_ptr<ClusterServers> servers, ClientOptions options);

  [[nodiscard]] RedisRuntime& runtime() override { return servers_->runtime(); }
  [[nodiscard]] const ClientOptions& options() const override { return options_; }
  [[nodiscard]] std::optional<Reply> submit(Submission& submission) override;
  void unblock() override;
  void close() override;
  [[nodiscard]] absl::StatusOr<std::vector<std::vector<Request>>> replica_waits(
      const ReplicaWait& wait, std::optional<std::string_view> key) override;

  /// Reports that a part has its replies, from a node or because it could not be sent.
  void ended(ClusterPart& part);

 private:
  /// Why a part is sent again.
  enum class Again : std::uint8_t {
    kNot,    // its replies count
    kSoon,   // to the node that its redirect named, or to the owner of its slot, after its pause
    kByMap,  // to the owner of its slot, after a look at the map
  };
  struct Gate {
    std::deque<ClusterPart*> again;  // redirected, in the order of their replies
    std::deque<ClusterPart*> held;   // submitted since
    bool is_opening = false;
  };
  /// The parts of a slot that were sent and have no replies yet, without blocking ones. All are on one
  /// node: requests on two would be executed in any order.
  struct Flight {
    int count = 0;
    std::shared_ptr<RedisCore> node = nullptr;
  };

  /// What a gate waits for before it opens.
  struct Opening {
    bool is_by_map = false;
    std::int64_t pause_ms = 0;
  };

  void begin(ClusterWhole& whole, const RequestUnit& unit);
  [[nodiscard]] std::optional<Reply> refusal(const Request& request);
  void send(ClusterPart& part);
  void deliver(ClusterPart& part);
  [[nodiscard]] std::shared_ptr<RedisCore> find_node(ClusterPart& part);
  [[nodiscard]] std::shared_ptr<RedisSession> session_for(ClusterPart& part);
  [[nodiscard]] std::shared_ptr<RedisSession> session_on(const std::shared_ptr<RedisCore>& node);
  [[nodiscard]] Again judge(ClusterPart& part);
  [[nodiscard]] Again follow(ClusterPart& part, const Redirect& redirect);
  void send_again(ClusterPart& part, Again why);
  void finish(ClusterPart& part);
  void open_gate(int slot);
  void open_later(int slot, const std::optional<Opening>& opening);
  // Require mutex_:
  [[nodiscard]] bool take_off(ClusterPart& part);
  [[nodiscard]] std::optional<Opening> leave(int slot);
  [[nodiscard]] static Opening begin_opening(Gate& gate);

  const std::shared_ptr<ClusterServers> servers_;
  const ClientOptions options_;
  const std::shared_ptr<ClusterSubscriptions> subscriptions_;  // null without on_message

  std::mutex mutex_;
  // ---- Guarded by mutex_ ----
  absl::flat_hash_map<std::shared_ptr<RedisCore>, std::shared_ptr<RedisSession>> sessions_;
  absl::flat_hash_map<int, Flight> in_flight_;  // by slot
  std::map<int, Gate> gates_;                   // by slot
  bool is_closed_ = false;
};

}  // namespace rushgate
