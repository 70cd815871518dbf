// The receiver of a client's output other than replies.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rushgate/reply.h>

namespace rushgate {

/// Called inside the turn, and mostly at the commit of a batch; calls before the commit are
/// documented as such. Must return at once and use no client.
class Outlet {
 public:
  virtual ~Outlet() = default;

  /// Reserves space for a message. Returns false if too many messages wait for this client or for
  /// all clients of its server. The message is dropped then, and the outlet ends its client.
  /// `is_protected`: only the bound of this client counts. Called before the commit. Does not
  /// throw.
  [[nodiscard]] virtual bool reserve(std::size_t /*bytes*/, bool /*is_protected*/) { return true; }
  /// Undoes reserve() after a rollback. Called before the commit.
  virtual void release(std::size_t /*bytes*/) {}

  /// Returns true if push() puts messages in their places among the replies. Otherwise a message is
  /// received when it is pushed.
  [[nodiscard]] virtual bool orders_messages() const { return false; }
  /// Receives a message of a channel. `after_replies`: the number of the session's replies before
  /// it.
  virtual void push(Reply message, std::uint64_t after_replies) = 0;
  /// Returns true if a reply without a waiting thread is allowed. Otherwise too much output waits
  /// for the clients of its server: the request does not run, and the outlet ends its client.
  /// Called before the commit. Does not throw.
  [[nodiscard]] virtual bool takes_reply() { return true; }
  /// Counts such a reply until the client has taken it. Called before the commit.
  virtual void note_reply(const Reply& /*reply*/) {}
  /// Reports the end of CLIENT PAUSE to the server that keeps the client's requests. Delayed clients
  /// get it in the order of their requests. Called before the commit.
  virtual void resume() {}
  /// CLIENT KILL.
  virtual void hang_up() = 0;

  /// Returns true if the client belongs to a server that SHUTDOWN can end.
  [[nodiscard]] virtual bool is_of_server() const { return false; }
  /// Ends that server (SHUTDOWN), with or without a sync of the store. Called before the commit.
  virtual void shut_down(bool /*saves*/) {}
};

}  // namespace rushgate
