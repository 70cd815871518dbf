// A keyspace on a Redis server (6.2 or later; tested with 7.0) or a compatible one. Start here to
// use Rushgate on a Redis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct RedisAddress {
  std::string host = {};
  int port = 0;

  /// Returns "host:port" or "[host]:port", for messages.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy means the comparison with 0 that this implies
  friend auto operator<=>(const RedisAddress&, const RedisAddress&) = default;
};

/// The sentinels of a Redis (redis.io/docs/latest/develop/reference/sentinel-clients), which know
/// its master. A value type.
struct RedisSentinelOptions {
  std::vector<RedisAddress> addresses = {};  // empty: no Sentinel, RedisOptions names the server
  std::string master = {};                   // the name of the master
  std::string user = {};                     // of the sentinels; empty: the default user
  std::string password = {};                 // of the sentinels; empty: no AUTH is sent
  std::int64_t timeout_ms = 500;             // the longest wait for one sentinel
  std::int64_t poll_ms = 1'000;              // pause between two looks for another master
};

/// A Redis Cluster (redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec). A value type.
struct RedisClusterOptions {
  std::vector<RedisAddress> addresses = {};  // some of its nodes; empty: no cluster
  std::int64_t timeout_ms = 500;             // the longest wait for one node's map of the slots
  std::int64_t poll_ms = 1'000;              // pause between two looks at the map
};

/// A value type.
struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string unix_path = {};          // used instead of host and port if not empty
  RedisSentinelOptions sentinel = {};  // used instead of host and port if it has addresses
  RedisClusterOptions cluster = {};    // used instead of host and port if it has addresses

  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: no AUTH is sent
  int db = 0;
  std::string client_name = {};  // the name for CLIENT LIST; empty: none

  std::int64_t connect_timeout_ms = 2'000;
  /// How long the server may be silent. A blocking command has its own timeout in addition. Also
  /// how long a request waits for a separate connection when all are in use.
  std::int64_t command_timeout_ms = 5'000;
  /// The maximum of connections other than the shared one. Each blocking read and each subscriber
  /// uses one.
  int connections_max = 16;
  std::int64_t reconnect_max_ms = 1'000;  // the longest pause before the next attempt
  int keepalive_seconds = 15;             // silence before TCP probes the peer

  /// Bounds on the number of submissions of all clients that have no reply yet, and on the bytes of
  /// their requests. A submission whose completion has not begun counts too, with the bytes of its
  /// replies. Submissions of callbacks do not count. Beyond a bound, ClientOptions::fail_when_full
  /// decides. A single submission may be larger.
  std::size_t queue_capacity = 32'768;
  std::size_t queue_bytes_max = std::size_t{256} * 1024 * 1024;

  /// How many bytes of messages may wait for a subscriber's on_message. Beyond that, the connection
  /// is dropped, as redis-server does (client-output-buffer-limit pubsub). It is made again when
  /// half of the messages have been handled.
  std::size_t message_bytes_max = std::size_t{32} * 1024 * 1024;

  /// The number of replicas that Client::sync() waits for (redis.io/commands/wait); 0: none.
  int sync_replicas = 0;
  std::int64_t sync_timeout_ms = 1'000;  // the longest wait for them

  /// Replicas that must have a result before a client with ClientOptions::confirms gets it; 0: none.
  int confirm_replicas = 0;
  std::int64_t confirm_ms = 1'000;  // the longest wait for them

  bool tls = false;
  std::string tls_ca = {};           // file of certificates to trust (PEM); empty: the system's
  std::string tls_certificate = {};  // file of the client's certificate (PEM); empty: none
  std::string tls_key = {};          // file of its key (PEM)

  /// Parses a URL. Missing options keep their defaults.
  ///     redis://[[user]:password@]host[:port][/db][?options]
  ///     rediss://… as redis://, with TLS
  ///     unix:path[?options], unix://[[user]:password@]/path[?options]
  ///     redis-sentinel://[[user]:password@]host[:port][,host[:port]…]/master[?options]
  ///     rediss-sentinel://… as redis-sentinel://, with TLS to the sentinels and to the master
  ///     redis-cluster://[[user]:password@]host[:port][,host[:port]…][?options]
  ///     rediss-cluster://… as redis-cluster://, with TLS
  /// Options: connect_timeout_ms, command_timeout_ms, reconnect_max_ms, sync_replicas,
  /// sync_timeout_ms, confirm_replicas, confirm_ms; with TLS tls_ca, tls_certificate, tls_key; for
  /// unix: and Sentinel db; for Sentinel sentinel_user, sentinel_password, sentinel_timeout_ms,
  /// sentinel_poll_ms; for a cluster cluster_timeout_ms, cluster_poll_ms. "%XX" is decoded.
  /// kInvalidArgument: the message says which part is wrong, and never shows a password.
  static absl::StatusOr<RedisOptions> from_url(std::string_view url);

  /// Returns kInvalidArgument if a value is out of bounds.
  [[nodiscard]] absl::Status check() const;

  /// Returns "host:port", "[host]:port", the socket's path, the master's name and its sentinels, or
  /// the cluster's nodes, for messages.
  [[nodiscard]] std::string address() const;
};

/// A value type.
struct RedisCounters {
  std::uint64_t connects = 0;          // connections that became usable
  std::uint64_t reconnects = 0;        // replacements of a lost one
  std::uint64_t connect_failures = 0;  // attempts that failed, refused servers included
  std::uint64_t losses = 0;            // usable connections that ended without being closed here
  std::uint64_t requests = 0;          // by clients; each request of a pipeline counts
  std::uint64_t writes = 0;            // system calls that sent requests
  std::uint64_t timeouts = 0;          // connections closed because the server was silent
  std::uint64_t expired = 0;           // submissions that expired before they began (TIMEDOUT)
  std::uint64_t overloads = 0;  // submissions refused because the queue was full (OVERLOADED)
  std::uint64_t breaker_openings = 0;  // times that the server became known as dead
  std::uint64_t breaker_refusals = 0;  // submissions refused at once meanwhile
  std::uint64_t resubscriptions = 0;   // subscribed connections that were replaced
  std::uint64_t lookups = 0;  // times that sentinels were asked for a master, or nodes for the map
  std::uint64_t master_changes = 0;  // times that they named another master than before
  std::uint64_t redirects = 0;       // requests that a node of a cluster sent to another one
};

class RedisRuntime;
class RedisServers;

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
/// If the client has a connection to itself, a blocking command also delays the requests after it.
///
/// **Errors.** Replies may be errors with these codes, besides Redis's own (error_code in
/// reply.h):
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
/// **Confirmation.** With confirm_replicas, all clients with ClientOptions::confirms share a second
/// connection. Their requests are sent in batches, each of which ends with a WAIT. All replies of a
/// batch come after it. If too few replicas confirm it within confirm_ms, or the connection is lost,
/// results become kOutcomeUnknown; errors stay as they are. Requests with a connection of their own
/// are not confirmed.
///
/// **Sentinel.** Each connection begins with a question to the sentinels, one after the other, and
/// the server that they name must say that it is a master (ROLE). Meanwhile the sentinels are asked
/// in turn every poll_ms. If they name another master, all connections to the previous one end, even
/// if it still accepts requests. So requests in flight during a failover get kOutcomeUnknown, and
/// all others kClosed until the sentinels have a new master. An answer from before the last known
/// failover counts only if no sentinel has a newer one.
///
/// **Cluster.** Each master has connections as described above, and connections_max counts for each.
/// A request runs on the master of its keys' slot; if they are in several slots, it gets CROSSSLOT and is
/// not sent. Redirects are followed. docs/cluster.md says what runs where. Requests for one slot
/// keep their order; others may run in any. Commands that change their connection are refused, and
/// MULTI and WATCH must end in the same pipeline. A master that is down fails its own requests
/// alone.
///
/// **A lost connection** is made again, at first at once, then after pauses from 10 ms up to
/// reconnect_max_ms, with jitter. After a failed attempt, or if the server is silent, the server
/// counts as dead: requests get kClosed with the reason within 50 ms, most of them at once. If the
/// last connection failed its checks, requests get kClosed at once, except those that wait for the
/// next attempt. health() returns the reason. If two connections in a row are lost before they
/// served a request, the second counts as a failed attempt.
///
/// A client with a connection to itself loses what its commands changed there, so all its later
/// requests get kClosed. Its subscriptions are made again nevertheless, with the pauses described
/// above, until the client is destroyed. on_message gets ["disconnected", nil, <number of channels
/// and patterns>] when a loss is noticed, and ["resubscribed", nil, <number>] when they are made
/// again. Messages in between may be missing.
///
/// **Limits.** Replies have RESP2's kinds and may nest 7 deep, which is hiredis's limit; a deeper
/// one ends its connection. A client that was opened with protocol 3 gets an error for each
/// request. MONITOR, HELLO, CLIENT REPLY, SCRIPT DEBUG, replication, and SUBSCRIBE inside MULTI are
/// refused.
class RedisBackend final : public Backend {
 public:
  /// Opens the first connection. Errors:
  /// - kInvalidArgument: a bad option or a file of certificates that cannot be read.
  /// - kUnavailable: no server there, or it is full or loads its data; no sentinel replies, or the
  ///   server that they name is no master.
  /// - kPermissionDenied: wrong or missing password.
  /// - kFailedPrecondition: the server is older than 6.2, or refuses something else, such as the
  ///   database's number; no sentinel knows the master's name.
  static absl::StatusOr<std::unique_ptr<RedisBackend>> open(const RedisOptions& options);

  /// Closes all connections. Completions of requests in flight have run when it returns.
  ~RedisBackend() override;
  RedisBackend(const RedisBackend&) = delete;
  RedisBackend& operator=(const RedisBackend&) = delete;

  /// Opens a client. When it is destroyed, its blocking commands end as if they had timed out. Its
  /// other requests continue, except those on a connection of its own, which fail with kClosed or
  /// kOutcomeUnknown.
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;
  using Backend::open_client;

  [[nodiscard]] const Clock& clock() const override;  // the machine's
  [[nodiscard]] Scheduler& scheduler() override;
  [[nodiscard]] absl::Status health() const override;
  /// There are no native scripts, and the server's configuration (appendfsync) decides how durable
  /// replies are. Client::sync() returns OK if the server replies. With
  /// RedisOptions::sync_replicas, it waits until that many replicas have all earlier writes. If
  /// they do not confirm in time, it returns NOREPLICAS.
  [[nodiscard]] Capabilities capabilities() const override;
  void add_native_scripts(std::span<const NamedScript> scripts) override;
  /// Adds a check, which runs on a thread of its own. Requests that need the checked connection
  /// wait for it.
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override;

  [[nodiscard]] RedisCounters counters() const;

 private:
  RedisBackend(std::shared_ptr<RedisRuntime> runtime, std::shared_ptr<RedisServers> servers);

  const std::shared_ptr<RedisRuntime> runtime_;
  const std::shared_ptr<RedisServers> servers_;
};

}  // namespace rushgate
