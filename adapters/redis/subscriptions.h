// The subscriptions of one connection, derived from the server's messages. Private to this module.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// The server confirms each channel or pattern separately, and sends messages in between. Not
/// thread-safe.
class ConnectionSubscriptions {
 public:
  /// Returns true if `reply` is a message. While there are subscriptions, no other reply has its
  /// shape.
  [[nodiscard]] bool is_message(const Reply& reply) const;

  /// Returns how many confirmations the server sends for `request`; nothing if it is no
  /// subscription. Call it before the first of them is recorded.
  [[nodiscard]] std::optional<std::size_t> confirmations_of(const Request& request) const;
  void note_confirmation(const Reply& confirmation);

  /// Handles the loss of the connection.
  void forget_confirmed();
  /// Returns the requests that restore all subscriptions of the lost connection.
  [[nodiscard]] std::vector<Request> renewal() const;
  [[nodiscard]] std::size_t wanted() const;

 private:
  static constexpr std::size_t kKinds = 3;  // channels, patterns, shard channels
  using Names = std::array<std::set<std::string>, kKinds>;

  Names wanted_;
  Names confirmed_;  // on this connection
};

}  // namespace rushgate
