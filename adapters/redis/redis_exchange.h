// A few requests on a connection of their own. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "adapters/redis/hiredis_reader.h"
#include "adapters/redis/line_timer.h"
#include "adapters/redis/redis_wire.h"
#include <rushgate/redis_backend.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Connects, sends requests, receives their replies, and disconnects. Belongs to the I/O thread.
class RedisExchange final : public RedisWire::Owner,
                            public std::enable_shared_from_this<RedisExchange> {
 public:
  /// Gets the replies, of which some may be errors, or kUnavailable with the reason.
  using Then = absl::AnyInvocable<void(absl::StatusOr<std::vector<Reply>>)>;

  /// `options` and `tls` are as for RedisWire.
  RedisExchange(boost::asio::io_context& io, const RedisOptions& options,
                boost::asio::ssl::context* tls);

  /// Call it once. `then` is called later, and at the latest after `timeout_ms`.
  void start(const RedisAddress& server, const std::vector<Request>& requests,
             std::int64_t timeout_ms, Then then);
  /// Disconnects without calling `then`.
  void close();

 private:
  void connected(RedisWire& wire, const std::string& failure) override;
  void received(RedisWire& wire, std::string_view bytes, const std::string& failure) override;
  void can_write(RedisWire& wire, const std::string& failure) override;
  void fail(std::string_view reason);
  void end(absl::StatusOr<std::vector<Reply>> result);

  boost::asio::io_context& io_;
  const RedisOptions& options_;
  boost::asio::ssl::context* const tls_;
  std::shared_ptr<RedisWire> wire_;  // null when it has ended
  LineTimer timer_;
  std::string out_;
  std::size_t expected_ = 0;
  std::size_t received_bytes_ = 0;
  ReplyReader reader_;
  std::vector<Reply> replies_;
  Then then_;
};

}  // namespace rushgate
