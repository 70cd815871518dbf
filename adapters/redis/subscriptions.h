// The subscriptions of one connection, as the server's messages show them. Private to this module.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate {

/// Not thread-safe. The server confirms each channel or pattern alone, and sends messages in
/// between.
class Subscriptions {
 public:
  /// Returns true if `reply` is a message: the server says nothing of that shape to a request while
  /// there are subscriptions.
  [[nodiscard]] bool is_message(const Reply& reply) const;

  /// Returns how many confirmations the server sends for `request`; nothing if it is no
  /// subscription. To be asked before the first of them is noted.
  [[nodiscard]] std::optional<std::size_t> confirmations_of(const Request& request) const;
  void note_confirmation(const Reply& confirmation);

  /// The connection is lost.
  void forget_confirmed();
  /// Returns the requests that subscribe to all that was subscribed when the connection was lost.
  [[nodiscard]] std::vector<Request> renewal() const;
  [[nodiscard]] std::size_t wanted() const;

 private:
  static constexpr std::size_t kKinds = 3;  // channels, patterns, shard channels
  using Names = std::array<std::set<std::string>, kKinds>;

  Names wanted_;
  Names confirmed_;  // on this connection
};

}  // namespace rushgate
