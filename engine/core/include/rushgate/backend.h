// The port for a keyspace. The embedded engine (<rushgate/engine.h>) is a backend.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/copy_portion.h>
#include <rushgate/script.h>

namespace rushgate {

/// Capabilities in which backends differ.
struct Capabilities {
  bool runs_native_scripts = false;  // add_native_scripts() has an effect
  bool waits_for_disk = false;       // Client::sync() returns after an fsync
  bool confirms = false;             // ClientOptions::confirms has an effect
  bool has_slots = false;            // a Redis Cluster: the keys of a request must share a slot
  bool has_callback_thread = false;  // must be true if callbacks run on a thread of the backend
};

/// Opens sessions. Thread-safe. A client may outlive the backend that opened it; its calls then
/// return CLOSED.
///
/// Completions, messages and timers are the callbacks of a backend. They run one at a time on one
/// thread of the backend, and may use any client, also with blocking calls. While such a call
/// waits, no other callback of this backend runs: what may wait for long needs a thread of its own.
/// A backend that has no thread runs them on the threads of its callers, for tests that are the same
/// in each run. A callback must not destroy the backend.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Opens a session.
  [[nodiscard]] virtual std::unique_ptr<Client> open_client(const ClientOptions& options) = 0;
  [[nodiscard]] std::unique_ptr<Client> open_client() { return open_client(ClientOptions{}); }

  /// Returns the clock that scheduler() uses. It lives as long as the backend.
  [[nodiscard]] virtual const Clock& clock() const = 0;
  /// Returns the timers of this backend. They never run after its destruction.
  [[nodiscard]] virtual Scheduler& scheduler() = 0;

  /// Returns OK if requests can be expected to succeed, else the reason why they fail.
  /// kUnavailable: they may succeed later.
  [[nodiscard]] virtual absl::Status health() const = 0;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Registers native scripts until the backend closes. A script with a registered name is ignored.
  /// Does nothing if the backend runs no native scripts.
  virtual void add_native_scripts(std::span<const NamedScript> scripts) = 0;

  /// Copies the keyspace, as Store::copy_to() does. Default: kUnimplemented, as on a server.
  virtual absl::Status copy_to(const std::filesystem::path& dir,
                               const std::filesystem::path& previous, AfterPortion after);

  /// Registers a check for new connections. It is removed when the caller destroys it. A server
  /// that lost writes has closed all its connections, so a check of the new ones detects the loss
  /// in time. Does nothing on the embedded engine, which has no connections.
  virtual void add_connection_check(std::weak_ptr<const ConnectionCheck> check) = 0;
};

}  // namespace rushgate
