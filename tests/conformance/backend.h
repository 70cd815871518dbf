// What a transcript is played against.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/client/request.h"

namespace rushgate::testing {

/// A keyspace with numbered client sessions, which begin when they are first used. Not thread-safe.
/// Throws std::runtime_error when it can not do what is asked, for instance when no answer comes.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For messages: "redis", "embedded".
  [[nodiscard]] virtual std::string name() const = 0;

  /// As new: all sessions end (and what they wait for), then all data and scripts go.
  virtual void reset() = 0;

  /// Sends a request and returns when it has been answered or is parked (blocked), so that what is
  /// sent next, in any session, runs after it.
  virtual void send(int session, const Request& request) = 0;

  /// The raw bytes of the session's next answer, as the Redis protocol has them.
  virtual std::string receive(int session) = 0;

  /// Whether receive() would return at once: everything that was sent so far has had its effect.
  virtual bool has_answer(int session) = 0;

  /// Lets time pass.
  virtual void elapse(std::chrono::milliseconds duration) = 0;
};

}  // namespace rushgate::testing
