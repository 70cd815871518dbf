// The one way to a keyspace: embedded, a session on the engine; in production, connections to a
// Redis server.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/client/errors.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/client/script.h"

namespace rushgate {

/// Called once with the reply, as a callback of the backend (backend.h): it may use a client,
/// blocking calls included. It must not throw.
using Completion = absl::AnyInvocable<void(Reply)>;

/// A request that is made when it is sent: what arrives until then can still become a part of it.
class LateRequest {
 public:
  /// Returns the request, which neither blocks nor changes the state of the session. Called at most
  /// once.
  virtual Request make() = 0;
  /// Takes the reply. Called once, after make() has returned; without make() if the request was not
  /// sent.
  virtual void complete(Reply reply) = 0;

 protected:
  ~LateRequest() = default;
};

class Client;

/// Runs once on each new connection, before anything else is sent over it. The client that it gets
/// speaks over that connection alone and is valid only during the call. If it fails, the connection
/// is closed, and what was to be sent over it gets CLOSED with the status's message.
using ConnectionCheck = std::function<absl::Status(Client& connection)>;

/// Thread-safe. Requests submitted by one thread run in the order of submission; replies have
/// RESP2's kinds unless the client was opened with RESP3. Errors are values, those of the transport
/// too (errors.h); nothing here throws.
class Client {
 public:
  virtual ~Client() = default;

  /// The primitive: hands the request over and returns; `completion` gets the answer. A blocking
  /// command (XREADGROUP … BLOCK) answers when it is served or its time is up, and holds up nobody
  /// else.
  virtual void submit(Request request, Completion completion) = 0;

  /// Submits `request`, which must live until complete() is called. Both its functions are called
  /// by whichever thread sends or receives, perhaps before submit_late() returns. They must not
  /// wait, throw or use a client.
  virtual void submit_late(LateRequest& request);

  /// Submits and waits, as ClientOptions::wait says.
  virtual Reply call(Request request) = 0;

  /// Submits all, then waits for all: one round trip, one group. Answers in the order of the
  /// requests, which must stay as they are meanwhile.
  virtual std::vector<Reply> pipeline(std::span<const Request> requests) = 0;

  /// Answers those of its blocking commands that wait now as if their time were up: for whoever
  /// stops a thread that reads. One that begins later waits.
  virtual void unblock() = 0;

  /// Returns when everything answered so far is as safe as the backend can make it: past an fsync
  /// on a durable embedded engine; on Redis it is a statement of trust in the server's own
  /// settings, or waits for replicas if the backend was told to. An error if it could not be made
  /// safe.
  virtual Reply sync() = 0;

  /// Returns true if the calling thread runs one of its backend's callbacks. Waiting there for what
  /// another callback does would be in vain.
  [[nodiscard]] virtual bool inside_callback() const { return false; }

  /// The command that runs `script`: FCALL of its native implementation where the backend has it,
  /// else EVALSHA.
  [[nodiscard]] virtual Request script_request(const Script& script,
                                               std::span<const std::string_view> keys,
                                               std::span<const std::string_view> arguments) const;

  /// Runs `script`, loading its text if the backend does not know it (NOSCRIPT).
  Reply run(const Script& script, std::span<const std::string_view> keys,
            std::span<const std::string_view> arguments);

  /// As run(), of the request that `make` makes with script_request(), again after each loading. If
  /// loading fails, its error is the reply: nothing was done.
  Reply run(const Script& script, absl::FunctionRef<Request()> make);

  /// Submits `script` as submit() does; once more with its text if the backend does not know it:
  /// requests submitted meanwhile run before it then. The client and `script` must live until
  /// `completion` has been called.
  void submit_script(const Script& script, std::span<const std::string_view> keys,
                     std::span<const std::string_view> arguments, Completion completion);

  /// Runs `script` once for each of `requests`, which script_request() made, as one pipeline.
  std::vector<Reply> run_all(const Script& script, std::span<const Request> requests);

  /// call(Request::of(…)).
  template <class... Args>
  Reply operator()(const Args&... args) {
    return call(Request::of(args...));
  }
};

/// EVALSHA <sha1> <number of keys> keys… arguments…, or with `verb` EVAL and `what` the script's
/// text, or FCALL and its name.
Request make_script_request(std::string_view verb, std::string_view what,
                            std::span<const std::string_view> keys,
                            std::span<const std::string_view> arguments);

}  // namespace rushgate
