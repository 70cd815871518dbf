// A backend that runs a transcript.
#pragma once

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/redis_server/raw_reply.h"
#include <rushgate/request.h>

namespace rushgate::testing {

/// A reply usually comes sooner. To ask on another connection whether the client is blocked takes as long
/// as the request.
constexpr std::chrono::milliseconds kUsualPatience{1};

/// A keyspace with numbered client sessions, each of which begins at its first use. Not
/// thread-safe. Throws std::runtime_error on failure, for instance if no reply comes.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Returns the name for messages: "redis", "embedded".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Restores the initial state. Ends all sessions and their blocked commands, removes all data and
  /// scripts, and sets the default encoding limits.
  virtual void reset() = 0;

  /// Sends a request and blocks until its reply or until the command blocks. Later requests in any
  /// session then run after it.
  virtual void send(int session, const Request& request) = 0;

  /// Sends requests in one piece. Blocks until the first reply or until one of them blocks.
  virtual void send_pipelined(int /*session*/, std::span<const Request> /*requests*/) {
    throw std::runtime_error(name() + " has no connections");
  }

  /// Returns the raw bytes of the session's next reply, in the Redis protocol.
  virtual std::string receive(int session) = 0;

  /// Returns the raw replies to requests that do not block. Sends them in one piece where possible.
  virtual std::vector<std::string> call_all(int session, std::span<const Request> requests) {
    std::vector<std::string> answers;
    for (const Request& request : requests) {
      send(session, request);
      answers.push_back(receive(session));
    }
    return answers;
  }

  /// Returns the reply to one request that does not block.
  Reply ask(int session, const Request& request) {
    return parse_raw_reply(call_all(session, {&request, 1})[0])->reply;
  }

  /// Returns true if receive() would return at once. All earlier requests have taken effect by
  /// then.
  virtual bool has_answer(int session) = 0;

  /// Closes the session's connection. It begins again at its next use. The server may notice later.
  virtual void close(int /*session*/) { throw std::runtime_error(name() + " has no connections"); }

  /// Returns true if the server has closed the session's connection. Replies before that can still
  /// be received.
  virtual bool has_ended(int /*session*/) { return false; }

  /// Blocks until the server closes the session's connection. Returns the bytes until then.
  virtual std::string receive_all(int /*session*/) {
    throw std::runtime_error(name() + " has no connections");
  }

  /// Begins receive_to_barrier(). The session must not be blocked. `in_transaction`: MULTI is open.
  virtual void send_barrier(int /*session*/, bool /*in_transaction*/) {
    throw std::runtime_error(name() + " has no connections");
  }
  /// Returns the bytes of all replies and messages that requests before send_barrier(), in any
  /// session, have caused in this one.
  virtual std::string receive_to_barrier(int /*session*/, bool /*in_transaction*/) {
    throw std::runtime_error(name() + " has no connections");
  }

  /// Lets time pass.
  virtual void elapse(std::chrono::milliseconds duration) = 0;

  /// Ends all sessions, and drops scripts and settings, but keeps the data. A subject with a store
  /// closes and reopens the store.
  virtual void reopen() { throw std::runtime_error(name() + " cannot be reopened"); }
};

}  // namespace rushgate::testing
