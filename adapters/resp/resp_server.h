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

  /// Permissions of the unix socket, such as 0700; 0: those that the umask leaves.
  std::uint32_t unix_socket_mode = 0;

  std::string password = {};  // what AUTH must give; empty: nobody asks

  /// start() raises the process's limit of open files as needed (RLIMIT_NOFILE), or lowers
  /// clients_max to what the limit allows, and logs that.
  std::size_t clients_max = 10'000;

  /// A client without a request and a reply for so many seconds is closed, unless it is subscribed
  /// or blocked. 0: none is.
  std::int64_t idle_timeout_s = 0;
  /// After so many seconds of silence the system asks a TCP client's machine whether it is still
  /// there; up to 32,767. 0: it does not ask.
  std::int64_t tcp_keepalive_s = 300;

  /// What one client may have sent without an answer, requests after MULTI and names that are kept
  /// for it included (WATCH, SUBSCRIBE), and what it may leave unread, in bytes. Beyond that it is
  /// closed, and the log says why.
  std::size_t query_bytes_max = std::size_t{1} << 30;
  std::size_t output_bytes_max = std::size_t{1} << 30;
  /// What a subscribed client may leave unread; it does not stop the clients that publish. It is
  /// closed at once beyond the first bound, and beyond the second one after so many seconds without
  /// a break. 0: no such bound. (Redis: client-output-buffer-limit pubsub.)
  std::size_t subscriber_bytes_max = 32 * 1'024 * 1'024;
  std::size_t subscriber_soft_bytes_max = 8 * 1'024 * 1'024;
  std::int64_t subscriber_soft_s = 60;
  /// What all clients may hold together of requests and replies, in bytes. Beyond that the clients
  /// that hold the most are closed, except those with CLIENT NO-EVICT. 0: no bound.
  std::size_t clients_bytes_max = std::size_t{2} << 30;

  /// A client said SHUTDOWN: the server is to be stopped, by another thread, and with `saves` the
  /// engine to be synced after that. Called inside the engine's turn: must return at once. Empty:
  /// SHUTDOWN is refused.
  std::function<void(bool saves)> on_shutdown = {};

  /// May be null.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Serves RESP2, RESP3 and inline commands on a thread of its own, which runs the requests of all
/// clients that are ready as one group. The engine must outlive it; others may use that meanwhile,
/// and several servers may serve one engine. (In manual mode a server is the only one: nobody else
/// may call the engine while it runs.) Thread-safe.
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

  /// Answers what was read, then closes all connections. Returns when the thread is gone, which
  /// waits for the scripts that run in the engine, or with kKill ends them, those of the engine's
  /// other clients included.
  void stop(EndOfScripts scripts = EndOfScripts::kAwait);

 private:
  class Impl;
  explicit RespServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
