// The parts of a submission to a Redis Cluster. Private to this module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "adapters/redis/cluster_routing.h"
#include "adapters/redis/redis_core.h"
#include "adapters/redis/submission.h"
#include <rushgate/reply.h>

namespace rushgate {

class ClusterSession;
class ClusterWhole;

/// A RequestUnit on its way to one node. Belongs to its whole.
class ClusterPart final : public Submission {
 public:
  ClusterPart(ClusterWhole& whole, const RequestUnit& unit);

  bool announce_begin() override;
  void first_reply() override;
  void finish() override;

  /// Returns the replies to the unit's own requests.
  [[nodiscard]] std::span<Reply> own_replies() {
    return std::span<Reply>(replies).last(unit.count);
  }
  /// Makes it ready to be sent.
  void prepare_to_send();

  ClusterWhole& whole;
  const RequestUnit& unit;
  std::shared_ptr<RedisCore> node = nullptr;  // the only one that may run it; null: by the slot
  std::shared_ptr<RedisCore> sent_to = nullptr;
  bool asks = false;           // ASKING precedes it
  bool is_by_map = false;      // is sent again only if the owner of the slot is not sent_to
  int hops = 0;                // redirects
  std::int64_t pause_ms = 0;   // before it is sent again
  std::int64_t waited_ms = 0;  // for TRYAGAIN

 private:
  std::vector<Request> prefixed_;  // ASKING or PING, and copies of the unit's requests
};

/// A submission, its parts and their replies. Deletes itself when all parts have ended.
class ClusterWhole {
 public:
  ClusterWhole(std::shared_ptr<ClusterSession> session, Submission& submission);

  [[nodiscard]] ClusterSession& session() { return *session_; }
  [[nodiscard]] Submission& submission() { return submission_; }
  [[nodiscard]] const RequestUnits& units() const { return units_; }

  /// Adds a part that will end. To be called before release().
  ClusterPart& add_part(const RequestUnit& unit);
  /// Sets the replies of a unit that is not sent.
  void refuse(const RequestUnit& unit, const Reply& error);
  /// Takes over the replies of a part. May delete this object.
  void ended(ClusterPart& part);
  /// Ends the time in which parts are added. May delete this object.
  void release();

 private:
  void take_replies(ClusterPart& part);

  const std::shared_ptr<ClusterSession> session_;
  Submission& submission_;
  const RequestUnits units_;
  std::deque<ClusterPart> parts_;
  std::mutex mutex_;
  std::vector<Reply> replies_;              // guarded by mutex_ until the end
  std::vector<std::vector<Reply>> spread_;  // by unit; guarded by mutex_
  std::atomic<std::size_t> left_{1};        // parts, and release()
};

}  // namespace rushgate
