// The subscriptions of one client of a Redis Cluster. Private to this module.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "adapters/redis/cluster_part.h"
#include "adapters/redis/cluster_servers.h"
#include "adapters/redis/redis_session.h"
#include "adapters/redis/subscriptions.h"
#include <rushgate/client.h>

namespace rushgate {

/// Channels and patterns are subscribed at one master, whichever it is: messages of PUBLISH reach all
/// nodes. Shard channels are subscribed at the master of their slot. When that is another one, or
/// the master of the others is down, they are subscribed again where they belong. Thread-safe.
class ClusterSubscriptions final : public ClusterServers::MapObserver,
                                   public std::enable_shared_from_this<ClusterSubscriptions> {
 public:
  ClusterSubscriptions(std::shared_ptr<ClusterServers> servers, ClientOptions options);

  /// Returns the number of channels and patterns.
  [[nodiscard]] std::size_t wanted();
  /// Returns the session for a request that subscribes or unsubscribes, on `node`; null if the client
  /// is closed. `slot`: that of its shard channels.
  [[nodiscard]] std::shared_ptr<RedisSession> session_for(std::optional<int> slot,
                                                          const std::shared_ptr<RedisCore>& node);
  /// Returns the node that has the channels and patterns; null if there are none.
  [[nodiscard]] std::shared_ptr<RedisCore> node_of_channels();
  /// Takes over the replies to such a request.
  void note_replies(ClusterPart& part);
  void close();

  void map_changed() override;

 private:
  /// A connection to one node, of the channels and patterns or of shard channels.
  struct Subscriber {
    std::shared_ptr<RedisCore> node;
    std::shared_ptr<RedisSession> session;
    std::atomic<bool> is_lost{false};  // the client was told
  };
  using SubscriberOnNode = std::shared_ptr<Subscriber>;
  /// The shard channels of one slot.
  struct Shard {
    ConnectionSubscriptions channels;
    SubscriberOnNode subscriber;  // null: must be subscribed again
  };
  /// What must be subscribed again, and where.
  struct Renewal {
    SubscriberOnNode subscriber;
    std::vector<Request> requests;
    std::optional<int> slot;
  };

  void renew(Renewal renewal);
  void on_message(const std::weak_ptr<Subscriber>& from, Reply message);
  void notify(std::string_view event);
  // Require mutex_:
  [[nodiscard]] SubscriberOnNode open(const std::shared_ptr<RedisCore>& node);
  [[nodiscard]] SubscriberOnNode shard_subscriber(const std::shared_ptr<RedisCore>& node);
  void drop(const SubscriberOnNode& subscriber, std::vector<SubscriberOnNode>& dropped);
  [[nodiscard]] std::size_t count() const;

  const std::shared_ptr<ClusterServers> servers_;
  const ClientOptions options_;

  std::mutex mutex_;
  // ---- Guarded by mutex_ ----
  ConnectionSubscriptions channels_;
  SubscriberOnNode channel_subscriber_;
  std::map<int, Shard> shards_;  // by slot
  std::vector<SubscriberOnNode> shard_subscribers_;
  bool is_closed_ = false;
};

}  // namespace rushgate
