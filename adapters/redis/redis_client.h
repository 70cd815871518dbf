// A Client on a Redis server (5.0 or later; made for 7.0), over hiredis: the swap for the embedded
// engine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/redis/redis_options.h"
#include "engine/client/client.h"

namespace rushgate {

/// Thread-safe. Owns up to connections_max connections, opened when they are needed; each call or
/// pipeline has one to itself until it is answered, so a blocking read holds up nobody but its
/// caller. It waits by blocking the calling thread. No call may be in flight when it is destroyed.
///
/// Besides Redis's own, replies may be errors with these codes (error_code in errors.h):
///   kClosed          nothing was done: there is no server, or it hung up before the request was
///                    sent;
///   kTimedOut        nothing was done: all connections were in use for command_timeout_ms;
///   kOutcomeUnknown  the connection was lost, or the server silent, after the request was sent.
/// Nothing is sent twice. A connection that failed is dropped; the next call opens another.
///
/// What a command does to its connection (SELECT, MULTI, WATCH, CLIENT SETNAME) lasts to the end of
/// the call or pipeline it stands in. Commands that are not one request with one answer in RESP2
/// (SUBSCRIBE, MONITOR, HELLO, CLIENT REPLY, …) are refused with an error. Replies may nest 7 deep,
/// hiredis's limit: a deeper one is error_code::kOutcomeUnknown.
class RedisClient final : public Client {
 public:
  /// Opens the first connection, to tell now if the server cannot be used. kInvalidArgument: a bad
  /// option; kUnavailable: no server there; kPermissionDenied: wrong or missing password;
  /// kFailedPrecondition: the server refuses something else, such as the database's number.
  static absl::StatusOr<std::unique_ptr<RedisClient>> connect(const RedisOptions& options);

  ~RedisClient() override;

  /// Runs the request and then the completion on the caller's thread: returns after both.
  void submit(Request request, Completion completion) override;
  Reply call(Request request) override;
  /// Any number of requests: they are sent and answers are read at the same time.
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  /// By CLIENT UNBLOCK, over a connection of its own: it takes effect where the server permits that.
  void unblock() override;
  /// OK if the server answers a PING. How safe its answers are is for its configuration to say
  /// (appendfsync): Redis 7.0 has no command that waits for its disk.
  Reply sync() override;
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override;

 private:
  class Pool;
  explicit RedisClient(std::unique_ptr<Pool> pool);

  void exchange(std::span<const Request> requests, std::span<Reply> replies);

  const std::unique_ptr<Pool> pool_;
};

}  // namespace rushgate
