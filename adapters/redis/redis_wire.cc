#include "adapters/redis/redis_wire.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>

namespace rushgate {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBytes = 64 * 1024;

std::string failure_text(const boost::system::error_code& error) {
  if (!error) return {};
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "the server closed the connection";
  }
  return error.message();
}

void set_option(int fd, int level, int name, int value) {
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof(value)));
}

}  // namespace

RedisWire::RedisWire(asio::io_context& io, const RedisOptions& options, RedisAddress server,
                     asio::ssl::context* tls, std::shared_ptr<Owner> owner)
    : options_(options),
      server_(std::move(server)),
      resolver_(io),
      socket_(io),
      tls_(tls != nullptr ? std::make_unique<asio::ssl::stream<Socket&>>(socket_, *tls) : nullptr),
      buffer_(std::make_unique<char[]>(kReadBytes)),
      owner_(std::move(owner)) {}

// ---- Connecting ---------------------------------------------------------------------------------

void RedisWire::connect() {
  if (!options_.unix_path.empty()) {
    try {
      return connect_to(asio::local::stream_protocol::endpoint(options_.unix_path), {});
    } catch (const boost::system::system_error& too_long) {
      return report_connected(too_long.code().message());
    }
  }
  resolver_.async_resolve(
      server_.host, std::to_string(server_.port),
      [self = shared_from_this()](const boost::system::error_code& error, Addresses addresses) {
        if (self->owner_ == nullptr) return;
        self->addresses_ = std::move(addresses);
        self->connect_to_next(self->addresses_.begin(), failure_text(error));
      });
}

/// Tries one address after the other. `failure` is that of the last one.
void RedisWire::connect_to_next(Addresses::iterator next, const std::string& failure) {
  if (next == addresses_.end()) return report_connected(failure);
  const Endpoint endpoint = next->endpoint();
  connect_to(endpoint, ++next);
}

void RedisWire::connect_to(const Endpoint& endpoint, Addresses::iterator next) {
  boost::system::error_code ignored;
  socket_.close(ignored);  // of the previous address
  socket_.async_connect(
      endpoint, [self = shared_from_this(), next](const boost::system::error_code& error) {
        if (self->owner_ == nullptr) return;
        if (error) return self->connect_to_next(next, failure_text(error));
        const int fd = self->socket_.native_handle();
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        self->socket_.native_non_blocking(true);
        if (self->options_.unix_path.empty()) {
          constexpr int kProbeEverySeconds = 5;
          constexpr int kProbes = 3;
          set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
          set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
          set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, self->options_.keepalive_seconds);
          set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
          set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
        }
        self->tls_ == nullptr ? self->report_connected({}) : self->shake_hands();
      });
}

void RedisWire::shake_hands() {
  std::string name =
      server_.host;  // replaces the macro SSL_set_tlsext_host_name(), which has a C cast
  SSL_ctrl(tls_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
           name.data());
  tls_->set_verify_callback(asio::ssl::host_name_verification(server_.host));
  tls_->async_handshake(asio::ssl::stream_base::client,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                          if (self->owner_ == nullptr) return;
                          self->report_connected(error ? "TLS: " + failure_text(error) : "");
                        });
}

void RedisWire::report_connected(const std::string& failure) {
  const std::shared_ptr<Owner> owner = owner_;
  owner->connected(*this, failure);
}

void RedisWire::close() {
  owner_ = nullptr;
  boost::system::error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
}

// ---- Bytes --------------------------------------------------------------------------------------

void RedisWire::read() {
  auto handler = [self = shared_from_this()](const boost::system::error_code& error,
                                             std::size_t bytes) {
    const std::shared_ptr<Owner> owner = self->owner_;
    if (owner == nullptr) return;
    owner->received(*self, {self->buffer_.get(), bytes}, failure_text(error));
    if (!error && self->owner_ != nullptr) self->read();
  };
  const auto space = asio::buffer(buffer_.get(), kReadBytes);
  if (tls_ == nullptr) {
    socket_.async_read_some(space, std::move(handler));
  } else {
    tls_->async_read_some(space, std::move(handler));
  }
}

ssize_t RedisWire::send(std::string_view bytes) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

void RedisWire::wait_until_writable() {
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       const std::shared_ptr<Owner> owner = self->owner_;
                       if (owner != nullptr) owner->can_write(*self, failure_text(error));
                     });
}

void RedisWire::write(std::string_view bytes) {
  writing_ = bytes;
  asio::async_write(
      *tls_, asio::buffer(writing_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        const std::shared_ptr<Owner> owner = self->owner_;
        if (owner != nullptr) owner->can_write(*self, failure_text(error));
      });
}

bool RedisWire::is_stale(bool may_speak) {
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  return got == 0 || (is_plain() && !may_speak);  // TLS sends messages of its own
}

}  // namespace rushgate
