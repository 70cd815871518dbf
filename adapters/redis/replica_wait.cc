#include "adapters/redis/replica_wait.h"

#include "adapters/redis/text.h"
#include "engine/core/client/redis_error_code.h"

namespace rushgate {

std::vector<Request> ReplicaWait::requests() const {
  constexpr int kKeyKeptMs = 1'000;
  return {key.empty() ? Request::of("PUBLISH", "rushgate:sync", "")
                      : Request::of("SET", key, "", "PX", kKeyKeptMs),
          Request::of("WAIT", replicas, timeout_ms)};
}

bool ReplicaWait::is_wait_with_key(std::span<const Request> requests) {
  if (requests.size() != 2 || requests[0].size() < 2) return false;
  return requests[0][1].ends_with(kWriteKeyEnd) && equals_ignore_case(requests[1][0], "WAIT");
}

bool ReplicaWait::is_key_elsewhere(std::span<const Reply> replies) {
  return !replies.empty() && (has_code(replies.front(), redis_error_code::kMoved) ||
                              has_code(replies.front(), redis_error_code::kAsk) ||
                              has_code(replies.front(), redis_error_code::kTryAgain));
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
