// A connection to a Redis server for one short exchange, whose calls block.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "absl/functional/function_ref.h"
#include <rushgate/request.h>

namespace rushgate {

/// Trusts nothing that the server sends. For commands whose replies are one line each. Once a call has
/// failed, all later ones fail at once. Not thread-safe, except for interrupt().
class BlockingConnection {
 public:
  /// Each wait for the server lasts at most `wait_max`.
  explicit BlockingConnection(std::chrono::milliseconds wait_max) : wait_max_(wait_max) {}
  BlockingConnection(const BlockingConnection&) = delete;
  BlockingConnection& operator=(const BlockingConnection&) = delete;

  /// Returns true if it is connected.
  [[nodiscard]] bool connect(const std::string& host, const std::string& port);
  /// Returns true if connect() failed because nothing listens there.
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  /// Returns true if the request was sent.
  [[nodiscard]] bool send(const Request& request);
  /// Returns the next reply without its end of line ("+OK", "-ERR …"). Returns nothing if none came in
  /// time, or too long a line.
  [[nodiscard]] std::optional<std::string> receive();

  /// Makes the present wait and all later ones fail. Any thread may call it.
  void interrupt();

 private:
  using Result = std::optional<boost::system::error_code>;

  bool wait(absl::FunctionRef<void(Result& result)> begin);

  const std::chrono::milliseconds wait_max_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::socket socket_{io_};
  std::string received_;  // not returned yet
  bool is_interrupted_ = false;
  bool was_refused_ = false;
  bool has_failed_ = false;
};

}  // namespace rushgate
