#include "adapters/redis/replica_wait.h"

#include "adapters/redis/text.h"

namespace rushgate {

std::vector<Request> ReplicaWait::requests() const {
  constexpr int kKeptMs = 1'000;
  return {key.empty() ? Request::of("PUBLISH", "rushgate:sync", "")
                      : Request::of("SET", key, "", "PX", kKeptMs),
          Request::of("WAIT", replicas, timeout_ms)};
}

std::optional<std::string> ReplicaWait::failure(std::span<const Reply> replies) const {
  for (const Reply& reply : replies) {
    if (reply.is_error()) return std::string(reply.text());
  }
  const std::int64_t confirmed = replies.back().integer();
  if (confirmed >= replicas) return std::nullopt;
  return concat(confirmed, " of ", replicas, " replicas confirmed within ", timeout_ms, " ms");
}

}  // namespace rushgate
