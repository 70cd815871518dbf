// Waiting for replicas. Private to this module.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// The requests that wait until replicas have everything that the server replied before.
struct ReplicaWait {
  int replicas = 0;
  std::int64_t timeout_ms = 0;
  std::string key = {};  // in a cluster: a key of the node

  /// WAIT counts the writes of its connection. For replicas, PUBLISH is a write, and it follows all
  /// earlier replies, also those to other connections. In a cluster it is none: the key is written.
  [[nodiscard]] std::vector<Request> requests() const;
  /// Returns why the replicas may lack something; nothing if they have it.
  [[nodiscard]] std::optional<std::string> failure(std::span<const Reply> replies) const;
};

}  // namespace rushgate
