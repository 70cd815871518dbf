// One connection to a Redis server. Private to this room: callers use RedisClient.
//
// hiredis connects and parses. The bytes are moved here, because hiredis 0.14 can not read while it
// writes (a large pipeline would stall both sides), sends with write(2) (SIGPIPE), and knows one
// timeout for all commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "adapters/redis/redis_options.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"

struct redisContext;

namespace rushgate {

/// Not thread-safe.
class RedisConnection {
 public:
  /// Connects, authenticates, selects the database, sets the name. kUnavailable: no server, or it
  /// does not answer; kPermissionDenied: wrong or missing password; kFailedPrecondition: it refuses
  /// something else. `options` must outlive the connection.
  static absl::StatusOr<std::unique_ptr<RedisConnection>> open(const RedisOptions& options);

  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// What the server calls it (CLIENT ID); 0 if it does not say.
  [[nodiscard]] std::int64_t id() const { return id_; }

  /// True if the server has hung up or said something unasked: nothing should be sent any more.
  [[nodiscard]] bool is_stale() const;

  /// Sends all `requests` and waits for the answers: replies[i] answers requests[i]. False if the
  /// connection failed; then those without an answer have an error: kClosed if they were not sent,
  /// kOutcomeUnknown if they may have been.
  bool exchange(std::span<const Request> requests, std::span<Reply> replies);

 private:
  class Outbox;

  RedisConnection(const RedisOptions& options, redisContext* context);

  absl::Status handshake();
  absl::Status ask_id();
  bool take_answers(std::span<Reply> replies, std::size_t& answered);
  bool wait_for(short events, const Request& awaited);
  void read_available();

  const RedisOptions& options_;
  struct FreeContext {
    void operator()(redisContext* context) const;
  };
  std::unique_ptr<redisContext, FreeContext> context_;
  std::unique_ptr<char[]> buffer_;
  std::int64_t id_ = 0;
  std::string failure_;  // why the connection is of no more use; empty: it is
};

}  // namespace rushgate
