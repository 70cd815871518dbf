// Where a Redis server is, and how patient to be with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// A value type.
struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string unix_path = {};  // if not empty, instead of host and port

  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: no AUTH is sent
  int db = 0;
  std::string client_name = {};  // the name for CLIENT LIST; empty: none

  std::int64_t connect_timeout_ms = 2'000;
  /// How long the server may be silent. A blocking command gets its own timeout in addition.
  /// Also how long a request waits for a connection of its own when all of them are in use.
  std::int64_t command_timeout_ms = 5'000;
  /// Besides the one that all clients share: each blocking read and each subscriber has one.
  int connections_max = 16;
  std::int64_t reconnect_max_ms = 1'000;  // the longest pause before the next attempt
  int keepalive_seconds = 15;             // of silence before TCP asks whether the peer is there

  /// Submissions of all clients that have no reply yet, and the bytes of their requests. Those
  /// whose completions have not begun count, too, with the bytes of their replies, except for
  /// submissions of callbacks. Beyond them, ClientOptions::fail_when_full decides. One submission
  /// may be larger than that alone.
  std::size_t queue_capacity = 32'768;
  std::size_t queue_bytes_max = std::size_t{256} * 1024 * 1024;

  /// Memory of the messages of one subscriber that wait for its on_message. At one more, its
  /// connection is dropped, as redis-server does (client-output-buffer-limit pubsub). It is made
  /// again when half of them have been taken.
  std::size_t message_bytes_max = std::size_t{32} * 1024 * 1024;

  /// How many replicas Client::sync() waits for (redis.io/commands/wait); 0: for none.
  int sync_replicas = 0;
  std::int64_t sync_timeout_ms = 1'000;  // how long it waits for them

  bool tls = false;
  std::string tls_ca = {};           // file of certificates to trust (PEM); empty: the system's
  std::string tls_certificate = {};  // file of the client's certificate (PEM); empty: none
  std::string tls_key = {};          // file of the key for it (PEM)

  /// Reads a URL. Options without a value keep the defaults.
  ///     redis://[[user]:password@]host[:port][/db][?options]
  ///     rediss://… as redis://, with TLS
  ///     unix:path[?options], unix://[[user]:password@]/path[?options]
  /// Options: connect_timeout_ms, command_timeout_ms, reconnect_max_ms, sync_replicas,
  /// sync_timeout_ms; for rediss:// tls_ca, tls_certificate, tls_key; for unix: db. "%XX" is
  /// decoded. An error is kInvalidArgument, says which part is wrong, and never shows the password.
  static absl::StatusOr<RedisOptions> from_url(std::string_view url);

  /// kInvalidArgument if a value is out of its bounds.
  [[nodiscard]] absl::Status check() const;

  /// For messages: "host:port", "[host]:port" or the socket's path.
  [[nodiscard]] std::string address() const;
};

}  // namespace rushgate
