// A server that misbehaves as a test requires: it replies in part, stays silent, or disconnects.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rushgate::testing {

/// The server's side of one accepted connection.
class FakeSession {
 public:
  explicit FakeSession(int fd) : fd_(fd) {}

  /// Reads until `end` was received. Returns false if the client disconnected before.
  bool read_until(std::string_view end);
  /// Reads a request, an array of bulk strings. Returns its words; empty if the client disconnected.
  std::vector<std::string> read_request();
  /// Reads and discards at least `bytes` bytes.
  bool read_bytes(std::size_t bytes);
  /// Blocks until the client disconnects.
  void wait_for_close();
  void write(std::string_view bytes);

  /// Replies to PING, INFO server and CLIENT ID, with which a client begins.
  void greet(std::string_view version = "7.0.15");

 private:
  /// Reads a line "<kind><number>". Returns the number; negative if the client disconnected.
  int read_number();

  int fd_;
};

/// Listens on 127.0.0.1 and runs `sessions`, one per connection, each on its own thread. Accepts no
/// further connections. A session that waits ends when its client disconnects.
class FakeServer {
 public:
  explicit FakeServer(std::vector<std::function<void(FakeSession&)>> sessions);
  ~FakeServer();

  [[nodiscard]] int port() const { return port_; }
  /// Blocks until `count` sessions have ended and their connections are closed.
  void wait_for_closed(int count);

 private:
  int listener_;
  int port_ = 0;
  std::atomic<int> closed_{0};
  const std::vector<std::function<void(FakeSession&)>> sessions_;
  std::jthread thread_;  // accepts connections
};

}  // namespace rushgate::testing
