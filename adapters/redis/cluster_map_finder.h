// Asks the nodes of a Redis Cluster for the map of its slots. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/redis/cluster_map.h"
#include "adapters/redis/line_timer.h"
#include "adapters/redis/redis_exchange.h"
#include "adapters/redis/redis_runtime.h"
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Asks in rounds: one node after the other, until one has a map of all slots that is not older than
/// the last one. Has one connection at a time. Belongs to the I/O thread.
///
/// Nodes learn of a failover one after the other. Their answers have a number, the current epoch of
/// the cluster, which each failover increases. If a whole round has no complete map, or none that is
/// new enough, its best one counts: the newest, and of those the one with the most slots. A map of
/// nodes of which none was in the last one is another cluster's. It counts only if every node
/// replied with such a one: then the cluster was set up again.
class ClusterMapFinder {
 public:
  using Found = absl::AnyInvocable<void(const absl::Status&)>;
  using OnMap = std::function<void(const ClusterMap&)>;

  /// `on_map` gets the map of each round that had one. `runtime` must outlive it.
  ClusterMapFinder(RedisRuntime& runtime, OnMap on_map);

  /// Calls `found` at the end of the round in progress, or of the next one. Rounds begin kPauseMs apart,
  /// however often they are wanted. `takes_last`: if the last one was just before, its result will do,
  /// and `found` is called at once. Errors:
  /// - kUnavailable: no node replies with a map of its cluster, or close() was called.
  /// - kPermissionDenied: the nodes refuse the user.
  /// - kFailedPrecondition: they belong to no cluster.
  void find(bool takes_last, Found found);
  /// Makes the next round begin with another node: the present map seems to be wrong.
  void doubt();
  void close();

  static constexpr std::int64_t kPauseMs = 100;

 private:
  struct Answer {
    RedisAddress node;  // that gave it
    ClusterMap map;
    std::int64_t epoch = 0;
  };

  void begin_round();
  void ask_next();
  void note_answer(Answer answer);
  void note_failure(const RedisAddress& node, const absl::Status& status);
  [[nodiscard]] absl::StatusOr<Answer> read_answer(
      const absl::StatusOr<std::vector<Reply>>& replies, const RedisAddress& node) const;
  [[nodiscard]] bool is_of_other_cluster(const ClusterMap& map) const;
  void end_round_with_best();
  void accept(const Answer& answer);
  void end_round(const absl::Status& status);

  RedisRuntime& runtime_;
  const OnMap on_map_;
  std::vector<RedisAddress> nodes_;  // the one that answered last is the first
  std::int64_t epoch_ = 0;           // of the last map that counted
  std::set<std::string> ids_;        // of its nodes
  LineTimer timer_;                  // until the next round

  // ---- The last round ----
  std::vector<Found> waiting_;  // for its end, or for the next one
  bool is_asking_ = false;      // it has not ended
  bool is_closed_ = false;
  std::int64_t began_ms_ = -kPauseMs;
  absl::Status result_;
  std::shared_ptr<RedisExchange> asking_;
  std::vector<RedisAddress> round_;
  std::size_t asked_ = 0;                // of round_
  absl::Status failure_;                 // of those that gave no answer
  std::optional<Answer> best_;           // of those that did not count at once
  std::optional<Answer> other_cluster_;  // of another cluster
};

}  // namespace rushgate
