// Where a client takes what comes besides answers.
#pragma once

#include <cstdint>

#include "engine/client/reply.h"

namespace rushgate {

/// Called inside the turn, when what it tells of is committed: must return at once, and use no
/// client.
class Outlet {
 public:
  virtual ~Outlet() = default;

  /// A message of a channel. `after_replies`: how many requests of the session had been answered
  /// when it was published.
  virtual void push(Reply message, std::uint64_t after_replies) = 0;
  /// CLIENT KILL.
  virtual void hang_up() = 0;

  /// Does it belong to a server that SHUTDOWN can end?
  [[nodiscard]] virtual bool is_of_server() const { return false; }
  /// SHUTDOWN of that server, with a sync of the store or without. Called before the commit.
  virtual void shut_down(bool /*saves*/) {}
};

}  // namespace rushgate
