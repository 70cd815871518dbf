// A port for Redis clients: serves the engine of this process like a redis-server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/engine.h>
#include <rushgate/program_commands.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct RespServerOptions {
  /// Addresses other than loopback require a password. Empty: no TCP.
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 6379;     // 0: a free one (RespServer::port())
  std::string unix_socket = {};  // path of a unix socket; empty: none. A stale socket is replaced

  /// Permissions of the unix socket, such as 0700; 0: by the umask.
  std::uint32_t unix_socket_mode = 0;

  std::string password = {};  // for AUTH; empty: no AUTH is required

  /// The maximum number of clients. start() raises the process's limit of open files
  /// (RLIMIT_NOFILE) as needed. If it cannot, it lowers clients_max and logs that.
  std::size_t clients_max = 10'000;

  /// Disconnects a client after this many seconds without a request or reply, unless it is
  /// subscribed or blocked. 0: never.
  std::int64_t idle_timeout_s = 0;
  /// The system probes a TCP client's machine after this many seconds of silence, at most 32,767.
  /// 0: never.
  std::int64_t tcp_keepalive_s = 300;

  /// Bounds for one client, in bytes. The first covers input that has no reply yet, including
  /// requests after MULTI and the names of WATCH and SUBSCRIBE. The second covers unread output. A
  /// client that exceeds a bound is disconnected, and the reason is logged.
  std::size_t query_bytes_max = std::size_t{1} << 30;
  std::size_t output_bytes_max = std::size_t{1} << 30;
  /// Bounds for the unread output of a subscriber, which never blocks publishers. Beyond the first
  /// it is disconnected at once, beyond the second after it has exceeded it for subscriber_soft_s
  /// seconds without a break. 0: no bound. (Redis: client-output-buffer-limit pubsub.)
  std::size_t subscriber_bytes_max = 32 * 1'024 * 1'024;
  std::size_t subscriber_soft_bytes_max = 8 * 1'024 * 1'024;
  std::int64_t subscriber_soft_s = 60;
  /// Bound for the requests and replies of all clients together, in bytes. Beyond it the largest
  /// clients are disconnected, except those with CLIENT NO-EVICT. 0: no bound.
  std::size_t clients_bytes_max = std::size_t{2} << 30;

  /// Called when a client sends SHUTDOWN, inside the engine's turn, so it must return at once.
  /// Another thread must then stop the server and, if `saves`, sync the engine afterwards. Empty:
  /// SHUTDOWN is refused.
  std::function<void(bool saves)> on_shutdown = {};

  /// Further commands of this program, such as make_sale_commands() (<rushgate/sale_commands.h>).
  /// The server's thread does not wait for them: other clients are served meanwhile. An engine has
  /// the commands of the server that was started last. Null: none.
  std::shared_ptr<ProgramCommands> commands = {};

  /// May be null.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Serves RESP2, RESP3 and inline commands on a thread of its own. The requests of all clients that
/// are ready run as one commit batch. The engine must outlive the server, and may have other
/// clients and servers. In manual mode it may have only this server, and no other thread may call
/// the engine meanwhile. Thread-safe.
class RespServer {
 public:
  /// Starts a server, and returns when it is listening. Errors:
  /// - kInvalidArgument: invalid options.
  /// - kUnavailable: the address or unix socket is in use or not permitted.
  /// - kResourceExhausted: the limit of open files leaves none for clients.
  static absl::StatusOr<std::unique_ptr<RespServer>> start(Engine& engine,
                                                           RespServerOptions options);
  /// Calls stop().
  ~RespServer();
  RespServer(const RespServer&) = delete;
  RespServer& operator=(const RespServer&) = delete;

  /// Returns the TCP port; 0 if there is none.
  [[nodiscard]] std::uint16_t port() const;

  /// Replies to the requests read so far, closes all connections, and returns when the thread has
  /// ended. Waits up to 10 s for replies to the program's commands. Waits for the engine's running
  /// scripts; with kKill it ends them instead, including those of other clients.
  void stop(EndOfScripts scripts = EndOfScripts::kAwait);

 private:
  class Impl;
  explicit RespServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate
