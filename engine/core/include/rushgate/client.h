// A session on a keyspace: on the embedded engine, or over connections to a Redis
// server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>
#include <rushgate/script.h>

namespace rushgate {

/// Called once with the reply, as a callback of the backend (backend.h). May use a client, also
/// with blocking calls. Must not throw.
using Completion = absl::AnyInvocable<void(Reply)>;

/// A request that is built when it is sent, so that it can include data arriving until then.
class LateRequest {
 public:
  /// Returns the request. Called at most once. Must neither block nor change the state of the
  /// session.
  virtual Request make() = 0;
  /// Receives the reply. Called once: after make() has returned, or without make() if the request
  /// was not sent.
  virtual void complete(Reply reply) = 0;

 protected:
  ~LateRequest() = default;
};

class Client;

/// Runs once on each new connection, before any other request is sent over it. `connection` uses
/// that connection alone and is valid only during the call. If the check fails, the connection is
/// closed, and the requests waiting for it return CLOSED with the status's message.
using ConnectionCheck = std::function<absl::Status(Client& connection)>;

/// A session on a keyspace. Thread-safe. Requests submitted by one thread run in the order of
/// submission. Replies have RESP2's kinds unless the client was opened with RESP3. All errors, also
/// those of the transport (error_code in reply.h), are returned as replies; nothing here throws.
class Client {
 public:
  virtual ~Client() = default;

  /// Submits a request and returns. `completion` receives the reply. A blocking command
  /// (XREADGROUP … BLOCK) replies when it is served or has timed out; other requests do not wait
  /// for it.
  virtual void submit(Request request, Completion completion) = 0;

  /// Submits `request`, which must live until complete() is called. Its functions are called by the
  /// thread that sends or receives, possibly before submit_late() returns. They must not wait,
  /// throw or use a client.
  virtual void submit_late(LateRequest& request);

  /// Submits a request and waits for the reply as ClientOptions::wait defines.
  virtual Reply call(Request request) = 0;

  /// Submits all requests in one round trip and one commit batch, then waits for all. Returns the
  /// replies in the order of the requests. `requests` must not change meanwhile.
  virtual std::vector<Reply> pipeline(std::span<const Request> requests) = 0;

  /// Times out all blocking commands now waiting on this client. Use it to stop a reader thread.
  /// Commands that begin later are not affected.
  virtual void unblock() = 0;

  /// Blocks until all replies so far are as durable as the backend can make them. On a durable
  /// embedded engine, that is after an fsync. On Redis, durability depends on the server's
  /// settings; the call waits for replicas if the backend is configured to. Returns an error if
  /// durability was not reached.
  virtual Reply sync() = 0;
  /// As sync(), but on a cluster only for replies of the master that has the slot of `key`. The others may
  /// be away.
  virtual Reply sync_of(std::string_view /*key*/) { return sync(); }

  /// Returns true if the calling thread runs a callback of this backend. Such a thread must not
  /// wait for another callback: it would wait forever.
  [[nodiscard]] virtual bool inside_callback() const { return false; }

  /// Returns the command that runs `script`: FCALL if the backend has its native implementation,
  /// else EVALSHA.
  [[nodiscard]] virtual Request script_request(const Script& script,
                                               std::span<const std::string_view> keys,
                                               std::span<const std::string_view> arguments) const;

  /// Runs `script`. Loads its source first if the backend does not know it (NOSCRIPT).
  Reply run(const Script& script, std::span<const std::string_view> keys,
            std::span<const std::string_view> arguments);

  /// As run(), for a request that `make` builds with script_request(). Calls `make` again after
  /// each loading. Returns the error if loading fails; the script has not run then.
  Reply run(const Script& script, absl::FunctionRef<Request()> make);

  /// Submits `script` as submit() does. If the backend does not know the script, submits it again
  /// with its source; requests submitted meanwhile run before it then. The client and `script` must
  /// live until `completion` has been called.
  void submit_script(const Script& script, std::span<const std::string_view> keys,
                     std::span<const std::string_view> arguments, Completion completion);

  /// Runs `script` once for each of `requests` (from script_request()) in one pipeline.
  std::vector<Reply> run_all(const Script& script, std::span<const Request> requests);

  /// Returns call(Request::of(arguments…)).
  template <class... Args>
  Reply operator()(const Args&... args) {
    return call(Request::of(args...));
  }
};

/// Returns `<verb> <what> <number of keys> keys… arguments…`. `what` is the SHA-1 for EVALSHA, the
/// source for EVAL, the name for FCALL.
Request make_script_request(std::string_view verb, std::string_view what,
                            std::span<const std::string_view> keys,
                            std::span<const std::string_view> arguments);

/// Suspends callers. Thread-safe and immutable.
class WaitMethod {
 public:
  /// Ends one wait. Lives on the stack of the waiting caller.
  class Event {
   public:
    /// Resumes the caller. May be called on any thread, once. The event is destroyed afterwards.
    virtual void happen() = 0;

   protected:
    ~Event() = default;
  };

  virtual ~WaitMethod() = default;

  /// Calls `begin` with an event, then suspends the caller until the event has happened.
  virtual void wait(absl::FunctionRef<void(Event&)> begin) const = 0;

  /// Returns the number of the calling thread or fiber, which no other living one has.
  [[nodiscard]] virtual std::uint64_t caller_number() const = 0;
};

/// Says how a client waits and reports. A value type. All backends interpret it in the same way.
struct ClientOptions {
  bool fail_when_full = false;        // return OVERLOADED if the queue is full, do not wait
  std::int64_t queue_timeout_ms = 0;  // return TIMEDOUT if a request has not begun by then,
                                      // queued or waiting for space in the queue; 0: no limit
  int protocol = 2;                   // kinds of replies: RESP2's or 3's
  /// Return a result only once the replicas that the backend was told to wait for have it; until then
  /// it is OUTCOMEUNKNOWN (RedisOptions::confirm_replicas). Without an effect on other backends.
  bool confirms = false;
  /// Receives the messages of the subscribed channels, in the form of the protocol. Runs as
  /// completions do. If empty, the client cannot subscribe.
  std::function<void(Reply)> on_message = {};
  /// Suspends the callers of call(), pipeline() and run(). Not owned. If null, the calling
  /// thread sleeps; with fiber_wait() of fiber_wait.h, only the calling fiber does. Two
  /// calls block the whole thread in any case: sync(), and a submission while the queue is
  /// full.
  const WaitMethod* wait = nullptr;
};

}  // namespace rushgate
