#include "tests/support/redis_server/raw_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "adapters/resp/resp_encoder.h"
#include "tests/support/redis_server/raw_reply.h"

namespace rushgate::testing {
namespace {

constexpr std::string_view kBarrier = "the messages before this reply";

/// The replies to two commands that are refused without effect, rather than queued. It takes two,
/// since the client may have sent one of them itself.
constexpr std::string_view kBarrierInTransaction =
    "-ERR WATCH inside MULTI is not allowed\r\n"
    "-ERR MULTI calls can not be nested\r\n";

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

}  // namespace

RawConnection::RawConnection(const std::string& unix_path)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (unix_path.size() >= sizeof(address.sun_path)) fail(unix_path, ENAMETOOLONG);
  std::memcpy(address.sun_path, unix_path.data(), unix_path.size());
  // This cast is the idiom of the socket API.
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (fd_ < 0 || ::connect(fd_, any, sizeof(address)) != 0) {
    const int error = errno;
    ::close(fd_);
    fail(unix_path, error);
  }
}

RawConnection::~RawConnection() { ::close(fd_); }

void RawConnection::send(std::span<const Request> requests) {
  std::string bytes;
  for (const Request& request : requests) append_request(request, bytes);
  send_bytes(bytes);
}

void RawConnection::send_bytes(std::string_view bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && (errno == EPIPE || errno == ECONNRESET)) return;  // the next receive reports it
    if (now < 0 && errno != EINTR) fail("send", errno);
    if (now > 0) sent += static_cast<std::size_t>(now);
  }
}

std::string RawConnection::receive(std::chrono::milliseconds patience) {
  for (;;) {
    if (const auto parsed = parse_raw_reply(received_)) {
      std::string bytes = received_.substr(0, parsed->size);
      received_.erase(0, parsed->size);
      return bytes;
    }
    if (!read_some(patience)) throw std::runtime_error("no answer in time");
    if (has_ended_) throw std::runtime_error("the server closed the connection");
  }
}

std::string RawConnection::receive_bytes(std::size_t count, std::chrono::milliseconds patience) {
  while (received_.size() < count) {
    if (!read_some(patience)) throw std::runtime_error("no answer in time");
    if (has_ended_) throw std::runtime_error("the server closed the connection");
  }
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  return bytes;
}

std::vector<std::string> RawConnection::exchange(std::span<const Request> requests) {
  send(requests);
  std::vector<std::string> replies;
  for (std::size_t i = 0; i < requests.size(); ++i) replies.push_back(receive());
  return replies;
}

std::string RawConnection::receive_all(std::chrono::milliseconds patience) {
  while (!has_ended_) {
    if (!read_some(patience)) throw std::runtime_error("the server does not hang up");
  }
  return std::exchange(received_, {});
}

void RawConnection::send_barrier(bool in_transaction) {
  if (in_transaction) {
    send(Request::of("WATCH", "key"));
    send(Request::of("MULTI"));
  } else {
    send(Request::of("PING", kBarrier));
  }
}

std::string RawConnection::receive_to_barrier(bool in_transaction) {
  std::string bytes;
  for (;;) {
    const std::string raw = receive();
    const bool is_barrier = !in_transaction && raw.find(kBarrier) != std::string::npos;
    if (is_barrier) return bytes;
    bytes += raw;
    if (in_transaction && bytes.ends_with(kBarrierInTransaction)) {
      bytes.resize(bytes.size() - kBarrierInTransaction.size());
      return bytes;
    }
  }
}

bool RawConnection::has_reply(std::chrono::milliseconds patience) {
  while (!parse_raw_reply(received_)) {
    if (has_ended_ || !read_some(patience)) return false;
  }
  return true;
}

Reply RawConnection::call(const Request& request) {
  send(request);
  return parse_raw_reply(receive())->reply;
}

/// Reads some bytes. Returns false if neither bytes nor the end came within `patience`.
bool RawConnection::read_some(std::chrono::milliseconds patience) {
  pollfd socket{fd_, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&socket, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return false;
  char buffer[16 * 1024];
  const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
  if (got < 0 && errno != ECONNRESET) fail("recv", errno);
  if (got <= 0) {
    has_ended_ = true;
    return true;
  }
  received_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::unique_ptr<RawConnection> connect_while_busy(const std::string& unix_path) {
  constexpr std::chrono::milliseconds kPatience{200};
  while (true) {
    auto client = std::make_unique<RawConnection>(unix_path);
    client->send(Request::of("PING"));
    try {
      if (client->receive(kPatience).starts_with("-BUSY")) return client;
    } catch (const std::runtime_error&) {  // no reply in time
    }
  }
}

}  // namespace rushgate::testing
