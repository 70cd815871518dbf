// The bytes of one connection: TCP, a unix socket, or TLS. Private to this module.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <rushgate/redis_backend.h>

namespace rushgate {

/// Belongs to the I/O thread, except for send() and is_stale(). The owner guards these together
/// with close(). Single use: connect(), then bytes in both directions, then close().
class RedisWire : public std::enable_shared_from_this<RedisWire> {
 public:
  /// Receives its events on the I/O thread. None follows close().
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Reports the end of connect(). An empty `failure` means success.
    virtual void connected(RedisWire& wire, const std::string& failure) = 0;
    /// Reports bytes, or the end of the connection with `failure` as the reason.
    virtual void received(RedisWire& wire, std::string_view bytes, const std::string& failure) = 0;
    /// Reports that the bytes of write() were sent, or that the socket accepts bytes again.
    virtual void can_write(RedisWire& wire, const std::string& failure) = 0;
  };

  /// Leads to `server`, or to the socket of `options` if they have one. `tls` is null for a
  /// connection without TLS. `options` and `tls` must outlive it.
  RedisWire(boost::asio::io_context& io, const RedisOptions& options, RedisAddress server,
            boost::asio::ssl::context* tls, std::shared_ptr<Owner> owner);

  void connect();
  /// Begins to read. Call it once, after connected().
  void read();
  void close();

  /// Returns true without TLS: any thread may send at once.
  [[nodiscard]] bool is_plain() const { return tls_ == nullptr; }
  /// Calls send(2) without blocking. Not with TLS.
  [[nodiscard]] ssize_t send(std::string_view bytes);
  /// Requests can_write() when the socket accepts bytes again. Not with TLS.
  void wait_until_writable();
  /// Sends all of `bytes` over TLS, then calls can_write().
  void write(std::string_view bytes);

  /// Returns true if nothing should be sent: the server has closed the connection, or sent bytes
  /// that it must not. Call it while no reply is expected.
  [[nodiscard]] bool is_stale(bool may_speak);

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;
  using Addresses = boost::asio::ip::tcp::resolver::results_type;

  void connect_to_next(Addresses::iterator next, const std::string& failure);
  void connect_to(const Endpoint& endpoint, Addresses::iterator next);
  void shake_hands();
  void report_connected(const std::string& failure);

  const RedisOptions& options_;
  const RedisAddress server_;
  boost::asio::ip::tcp::resolver resolver_;
  Addresses addresses_;
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;
  std::unique_ptr<char[]> buffer_;
  std::string writing_;           // over TLS
  std::shared_ptr<Owner> owner_;  // null after close()
};

}  // namespace rushgate
