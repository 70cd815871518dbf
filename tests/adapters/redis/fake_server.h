// A server that does what one test wants: answers half, says nothing, hangs up.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rushgate::testing {

/// One accepted connection, from the server's side.
class FakeSession {
 public:
  explicit FakeSession(int fd) : fd_(fd) {}

  /// Reads until `end` has been received; false if the client hung up before.
  bool read_until(std::string_view end);
  /// Reads, and throws away, at least `bytes` bytes.
  bool read_bytes(std::size_t bytes);
  /// Returns when the client hangs up.
  void wait_for_close();
  void write(std::string_view bytes);

  /// The PING, INFO server and CLIENT ID with which a client begins.
  void greet(std::string_view version = "7.0.15");

 private:
  int fd_;
};

/// Listens on 127.0.0.1 and plays `sessions`, one for each connection, each on a thread of its own.
/// No more are accepted. A session that waits ends when the client hangs up.
class FakeServer {
 public:
  explicit FakeServer(std::vector<std::function<void(FakeSession&)>> sessions);
  ~FakeServer();

  [[nodiscard]] int port() const { return port_; }
  /// Returns when `count` sessions have been played and their connections closed.
  void wait_for_closed(int count);

 private:
  int listener_;
  int port_ = 0;
  std::atomic<int> closed_{0};
  const std::vector<std::function<void(FakeSession&)>> sessions_;
  std::jthread thread_;  // accepts
};

}  // namespace rushgate::testing
