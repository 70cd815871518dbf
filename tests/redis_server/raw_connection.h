// A connection to a Redis server that keeps the bytes as they come.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate::testing {

/// Not thread-safe. Throws std::runtime_error when the server is not there, hangs up, does not
/// answer in time or sends no RESP: in a test each of these is a failure.
class RawConnection {
 public:
  static constexpr std::chrono::seconds kPatience{60};  // a busy machine may take long

  explicit RawConnection(const std::string& unix_path);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void send(const Request& request);
  void send_bytes(std::string_view bytes);

  /// The next reply's bytes.
  std::string receive(std::chrono::milliseconds patience = kPatience);

  /// The next `count` bytes.
  std::string receive_bytes(std::size_t count, std::chrono::milliseconds patience = kPatience);

  /// Sends all in one piece; the next replies' bytes, as many.
  std::vector<std::string> exchange(std::span<const Request> requests);

  /// All bytes up to the end, for which it waits: the server hangs up.
  std::string receive_all(std::chrono::milliseconds patience = kPatience);

  /// True if receive() would return at once.
  bool has_reply();

  /// send(), receive(), as a value.
  Reply call(const Request& request);

 private:
  bool read_some(std::chrono::milliseconds patience);

  int fd_;
  std::string received_;  // not yet handed out
  bool has_ended_ = false;
};

/// Returns with a client once the server says that a script takes too long. What comes before that
/// may be answered only after the script, so the next client asks again.
std::unique_ptr<RawConnection> connect_while_busy(const std::string& unix_path);

}  // namespace rushgate::testing
