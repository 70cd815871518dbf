// A connection to a Redis server that keeps the raw bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

/// Not thread-safe. Throws std::runtime_error if the server is unreachable, closes the connection,
/// is late, or sends no RESP. In a test, each of these is a failure.
class RawConnection {
 public:
  static constexpr std::chrono::seconds kPatience{60};  // generous: the machine may be busy

  explicit RawConnection(const std::string& unix_path);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void send(const Request& request) { send({&request, 1}); }
  /// Sends all requests at once.
  void send(std::span<const Request> requests);
  void send_bytes(std::string_view bytes);

  /// Returns the bytes of the next reply.
  std::string receive(std::chrono::milliseconds patience = kPatience);

  /// Returns the next `count` bytes.
  std::string receive_bytes(std::size_t count, std::chrono::milliseconds patience = kPatience);

  /// Sends all requests at once. Returns the bytes of as many replies.
  std::vector<std::string> exchange(std::span<const Request> requests);

  /// Returns all bytes until the server closes the connection. Blocks until then.
  std::string receive_all(std::chrono::milliseconds patience = kPatience);

  /// Sends requests without effect, whose replies receive_to_barrier() recognizes.
  /// `in_transaction`: MULTI is open.
  void send_barrier(bool in_transaction = false);
  /// Returns the bytes of all replies and messages before those to send_barrier().
  std::string receive_to_barrier(bool in_transaction = false);

  /// Returns true if receive() would return at once. Waits for the reply for `patience`.
  bool has_reply(std::chrono::milliseconds patience = {});

  /// Returns true if the server has closed the connection, as far as the calls above have noticed.
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  /// Sends the request and returns the parsed reply.
  Reply call(const Request& request);

 private:
  bool read_some(std::chrono::milliseconds patience);

  int fd_;
  std::string received_;  // received, not yet returned
  bool has_ended_ = false;
};

/// Returns a client when the server reports that a script takes too long. Earlier requests may get
/// their replies only after the script, so each attempt uses a new client.
std::unique_ptr<RawConnection> connect_while_busy(const std::string& unix_path);

}  // namespace rushgate::testing
