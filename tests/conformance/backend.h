// What a transcript is played against.
#pragma once

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/client/request.h"
#include "tests/redis_server/raw_reply.h"

namespace rushgate::testing {

/// A keyspace with numbered client sessions, which begin when they are first used. Not thread-safe.
/// Throws std::runtime_error when it can not do what is asked, for instance when no answer comes.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For messages: "redis", "embedded".
  [[nodiscard]] virtual std::string name() const = 0;

  /// As new: all sessions end (and what they wait for), then all data and scripts go, and limits of
  /// encodings are the usual ones.
  virtual void reset() = 0;

  /// Sends a request and returns when it has been answered or is parked (blocked), so that what is
  /// sent next, in any session, runs after it.
  virtual void send(int session, const Request& request) = 0;

  /// The raw bytes of the session's next answer, as the Redis protocol has them.
  virtual std::string receive(int session) = 0;

  /// The raw answers to requests that do not block, sent in one piece where that is possible.
  virtual std::vector<std::string> call_all(int session, std::span<const Request> requests) {
    std::vector<std::string> answers;
    for (const Request& request : requests) {
      send(session, request);
      answers.push_back(receive(session));
    }
    return answers;
  }

  /// The answer to one request that does not block.
  Reply ask(int session, const Request& request) {
    return parse_raw_reply(call_all(session, {&request, 1})[0])->reply;
  }

  /// Whether receive() would return at once: everything that was sent so far has had its effect.
  virtual bool has_answer(int session) = 0;

  /// Lets time pass.
  virtual void elapse(std::chrono::milliseconds duration) = 0;

  /// Ends all sessions, and forgets scripts and settings; the data stays. A subject that keeps its
  /// data in a store closes and reopens it.
  virtual void reopen() { throw std::runtime_error(name() + " cannot be reopened"); }
};

}  // namespace rushgate::testing
