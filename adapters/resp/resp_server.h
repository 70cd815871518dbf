// A port to which Redis clients speak: the engine of this process as they know a redis-server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/executor/engine.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct RespServerOptions {
  /// Addresses beyond loopback are refused without a password. Empty: no TCP.
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 6379;     // 0: a free one (RespServer::port())
  std::string unix_socket = {};  // path of one more way in; empty: none. One that is left over is
                                 // replaced

  /// Permissions of the unix socket, such as 0700; 0: by the umask.
  std::uint32_t unix_socket_mode = 0;

  std::string password = {};  // the password for AUTH; empty: no AUTH is needed

  /// The number of clients. start() raises the process's limit of open files as needed
  /// (RLIMIT_NOFILE), or lowers clients_max to that limit, and logs it.
  std::size_t clients_max = 10'000;

  /// A client without a request and a reply for so many seconds is closed, unless it is subscribed
  /// or blocked. 0: none is.
  std::int64_t idle_timeout_s = 0;
  /// After so many seconds of silence the system asks a TCP client's machine whether it is still
  /// there; up to 32,767. 0: it does not ask.
  std::int64_t tcp_keepalive_s = 300;

  /// Bounds for one client, in bytes: input without a reply, including requests after MULTI and
  /// names that are kept (WATCH, SUBSCRIBE); and unread output. A client beyond them is closed, and
  /// the log has the reason.
  std::size_t query_bytes_max = std::size_t{1} << 30;
  std::size_t output_bytes_max = std::size_t{1} << 30;
  /// Bounds for the unread output of a subscriber, which never blocks publishers. It is closed at
  /// once beyond the first bound, and beyond the second one after so many seconds without
  /// interruption. 0: no bound. (Redis: client-output-buffer-limit pubsub.)
  std::size_t subscriber_bytes_max = 32 * 1'024 * 1'024;
  std::size_t subscriber_soft_bytes_max = 8 * 1'024 * 1'024;
  std::int64_t subscriber_soft_s = 60;
  /// Bound for the requests and replies of all clients, in bytes. Beyond it the largest clients are
  /// closed, except those with CLIENT NO-EVICT. 0: no bound.
  std::size_t clients_bytes_max = std::size_t{2} << 30;

  /// A client said SHUTDOWN: the server is to be stopped, by another thread, and with `saves` the
  /// engine to be synced after that. Called inside the engine's turn: must return at once. Empty:
  /// SHUTDOWN is refused.
  std::function<void(bool saves)> on_shutdown = {};

  /// May be null.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Serves RESP2, RESP3 and inline commands on a thread of its own. The requests of all ready
/// clients run as one commit batch. The engine must outlive it, and may have other clients and
/// several servers. (In manual mode there is one server, and no other thread may call the engine
/// while it runs.) Thread-safe.
class RespServer {
 public:
  /// Returns when it listens. kInvalidArgument: options that make no sense; kUnavailable: the
  /// address or the unix socket is taken, or may not be used; kResourceExhausted: the limit of open
  /// files leaves none for clients.
  static absl::StatusOr<std::unique_ptr<RespServer>> start(Engine& engine,
                                                           RespServerOptions options);
  /// As stop().
  ~RespServer();
  RespServer(const RespServer&) = delete;
  RespServer& operator=(const RespServer&) = delete;

  /// The TCP port that it listens on; 0 if it has none.
  [[nodiscard]] std::uint16_t port() const;

  /// Replies to the requests read so far, then closes all connections. Returns when the thread has
  /// ended. That waits for running scripts of the engine, or with kKill ends them, also those of
  /// the engine's other clients.
  void stop(EndOfScripts scripts = EndOfScripts::kAwait);

 private:
  class Impl;
  explicit RespServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
