// A keyspace on a Redis server (6.2 or later; made for 7.0), or on any server that speaks like one.
// Start here to use Rushgate on a Redis.
#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/redis/redis_counters.h"
#include "adapters/redis/redis_options.h"
#include "engine/client/backend.h"

namespace rushgate {

class RedisCore;

/// Owns the connections, one I/O thread, and one thread for callbacks. Thread-safe.
///
/// **Connections.** All clients share one connection. Their requests are buffered and sent
/// together; a request that finds the connection idle is sent by the calling thread. Three kinds of
/// requests get connections of their own, up to connections_max:
/// - A blocking command (XREADGROUP … BLOCK), for as long as it runs.
/// - MULTI or WATCH that ends in the same pipeline (EXEC, DISCARD, UNWATCH), for the pipeline.
/// - Other commands that change their connection (SELECT, CLIENT SETNAME, MULTI alone, SUBSCRIBE):
///   the client has a connection to itself from then on, and their changes last.
///
/// **Order.** Requests that one thread submits through one client begin in the order of submission.
/// On a connection of the client's own, a blocking command also delays those after it.
///
/// **Errors.** Replies may be errors with these codes, besides Redis's own (error_code in
/// errors.h):
///   kClosed          nothing was done: no server, a connection lost before the request was sent, a
///                    failed check, or a closed backend;
///   kTimedOut        nothing was done: the request had not begun in time, or all connections were
///                    in use for command_timeout_ms;
///   kOverloaded      nothing was done: the queue was full;
///   kOutcomeUnknown  the connection was lost, or the server silent, after the request was sent.
/// Nothing is sent twice. Errors of a server that cannot serve now have codes of their own, with
/// nothing done (redis_error_code.h): kNoReplicas, kOutOfMemory, kBusy, kTryAgain, kMisconfigured.
/// Those of scripts begin with the code on Redis 6.2, too, as they do from 7.0 on.
/// READONLY, LOADING and MASTERDOWN also end the connection once its other replies have come: the
/// address may lead to another server by then.
///
/// **A lost connection** is made again, at once at first, then after pauses from 10 ms up to
/// reconnect_max_ms, with jitter. While the last attempt has failed, or the server went silent, it
/// is known as dead: requests get kClosed with the reason within 50 ms, most of them at once. While
/// the last connection failed its checks, they get kClosed at once, except requests waiting for the
/// next attempt. health() returns that reason. A connection that is lost before it served a request
/// counts as a failed attempt when it is the second in a row.
///
/// A client with a connection of its own loses the changes of its commands: all its later requests
/// get kClosed. Its subscriptions are made again all the same, with the pauses of above, until the
/// client is destroyed. on_message gets two arrays for each loss: ["disconnected", nil, <number of
/// channels and patterns>] when it is noticed, ["resubscribed", nil, <number>] when they are made
/// again. Messages between them may be missing.
///
/// **Limits.** Replies have RESP2's kinds and may nest 7 deep, hiredis's limit; a deeper one ends
/// its connection. A client opened with protocol 3 gets an error for each request. MONITOR, HELLO,
/// CLIENT REPLY, SCRIPT DEBUG, replication, and SUBSCRIBE inside MULTI are refused.
class RedisBackend final : public Backend {
 public:
  /// Opens the first connection. kInvalidArgument: a bad option or a file of certificates that
  /// cannot be read; kUnavailable: no server there, or it is full or loads its data;
  /// kPermissionDenied: wrong or missing password; kFailedPrecondition: the server is older than
  /// 6.2, or refuses something else, such as the database's number.
  static absl::StatusOr<std::unique_ptr<RedisBackend>> open(const RedisOptions& options);

  /// Closes all connections. Completions of requests in flight have run when it returns.
  ~RedisBackend() override;
  RedisBackend(const RedisBackend&) = delete;
  RedisBackend& operator=(const RedisBackend&) = delete;

  /// When the client is destroyed, its blocking commands end as if they had timed out. Its other
  /// requests go on, but those over a connection of its own fail with kClosed or kOutcomeUnknown.
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;
  using Backend::open_client;

  [[nodiscard]] const Clock& clock() const override;  // the machine's
  [[nodiscard]] Scheduler& scheduler() override;
  [[nodiscard]] absl::Status health() const override;
  /// It runs no native scripts and waits for no disk: how safe replies are is for the server's
  /// configuration to say (appendfsync). Client::sync() is OK if the server replies, or with
  /// RedisOptions::sync_replicas once so many replicas have all earlier writes; if they
  /// do not confirm it in time, it is NOREPLICAS.
  [[nodiscard]] Capabilities capabilities() const override;
  void add_native_scripts(std::span<const NamedScript> scripts) override;
  /// A check runs on a thread of its own. It delays the requests that need its connection.
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override;

  [[nodiscard]] RedisCounters counters() const;

 private:
  explicit RedisBackend(std::shared_ptr<RedisCore> core);

  const std::shared_ptr<RedisCore> core_;
};

}  // namespace rushgate
