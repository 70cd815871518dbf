// Where a client takes what comes besides answers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/client/reply.h"

namespace rushgate {

/// Called inside the turn. Most calls come when the commit batch is committed; those that come
/// before say so. Must return at once, and use no client.
class Outlet {
 public:
  virtual ~Outlet() = default;

  /// Makes room for a message of so many bytes that is to be pushed. False if too many wait
  /// already, for this client or for all clients of its server: then the message is left out, and
  /// the outlet ends its client. `is_protected`: only the bound of this client counts. Called
  /// before the commit. Throws nothing.
  [[nodiscard]] virtual bool reserve(std::size_t /*bytes*/, bool /*is_protected*/) { return true; }
  /// Undoes a reserve(): the message was rolled back. Called before the commit.
  virtual void release(std::size_t /*bytes*/) {}

  /// A message of a channel. `after_replies`: how many requests of the session had been answered
  /// when it was published.
  virtual void push(Reply message, std::uint64_t after_replies) = 0;
  /// Returns true if a reply that no thread waits for may be made. Otherwise too much waits for all
  /// clients of its server: the request is not run, and the outlet ends its client. Called before
  /// the commit. Throws nothing.
  [[nodiscard]] virtual bool takes_reply() { return true; }
  /// Counts such a reply until its client has taken it. Called before the commit.
  virtual void note_reply(const Reply& /*reply*/) {}
  /// CLIENT KILL.
  virtual void hang_up() = 0;

  /// Does it belong to a server that SHUTDOWN can end?
  [[nodiscard]] virtual bool is_of_server() const { return false; }
  /// SHUTDOWN of that server, with a sync of the store or without. Called before the commit.
  virtual void shut_down(bool /*saves*/) {}
};

}  // namespace rushgate
