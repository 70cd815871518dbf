// A keyspace, wherever it is: a port. The embedded engine is a backend (engine/executor/engine.h).
#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "engine/client/client.h"
#include "engine/client/client_options.h"
#include "engine/client/native_script.h"
#include "engine/time/clock.h"
#include "engine/time/scheduler.h"

namespace rushgate {

/// What one backend can do and another cannot.
struct Capabilities {
  bool runs_native_scripts = false;  // add_native_scripts() has an effect
  bool waits_for_disk = false;       // Client::sync() returns after an fsync
};

/// Opens sessions. Thread-safe. The clients that it opened may outlive it: their calls then reply
/// CLOSED.
///
/// Completions, messages and timers of one backend are its callbacks. They run one at a time on a
/// thread of its own, and may use any client, blocking calls included. While such a call waits, no
/// other callback of this backend runs. A callback must not destroy the backend.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Opens a session of its own.
  [[nodiscard]] virtual std::unique_ptr<Client> open_client(const ClientOptions& options) = 0;
  [[nodiscard]] std::unique_ptr<Client> open_client() { return open_client(ClientOptions{}); }

  /// Returns the clock that scheduler() goes by. It lives as long as the backend.
  [[nodiscard]] virtual const Clock& clock() const = 0;
  /// Returns the timers of this backend. They are dropped with it.
  [[nodiscard]] virtual Scheduler& scheduler() = 0;

  /// Returns OK if requests can be expected to succeed, else the reason why they fail.
  [[nodiscard]] virtual absl::Status health() const = 0;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Adds native scripts for as long as the backend is open, except those whose name it knows. Does
  /// nothing if it runs none.
  virtual void add_native_scripts(std::span<const NamedScript> scripts) = 0;

  /// Adds a check for the connections made from now on, for as long as the caller keeps it. A
  /// server that lost writes has ended every connection that it had, so a check can find that out
  /// in time. The embedded engine has no connections and runs none.
  virtual void add_connection_check(std::weak_ptr<const ConnectionCheck> check) = 0;
};

}  // namespace rushgate
