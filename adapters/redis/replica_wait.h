// Waiting for replicas. Private to this module.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// The requests that wait until replicas have everything that the server replied before.
struct ReplicaWait {
  static constexpr std::string_view kWriteKeyEnd = "}rushgate:sync";  // behind a hash tag

  int replicas = 0;
  std::int64_t timeout_ms = 0;
  std::string key = {};  // in a cluster: a key of the node

  /// WAIT counts the writes of its connection. For replicas, PUBLISH is a write, and it follows all
  /// earlier replies, also those to other connections. In a cluster it is none: the key is written.
  [[nodiscard]] std::vector<Request> requests() const;
  /// Returns true if the first of these requests is one of requests() with a key. It must not follow a
  /// redirect: WAIT would ask another node's replicas.
  [[nodiscard]] static bool is_wait_with_key(std::span<const Request> requests);
  /// Returns true if the key was not written, since its slot is on another node, or moves there.
  [[nodiscard]] static bool is_key_elsewhere(std::span<const Reply> replies);
  /// Returns why the replicas may lack something; nothing if they have it.
  [[nodiscard]] std::optional<std::string> failure(std::span<const Reply> replies) const;
};

}  // namespace rushgate
