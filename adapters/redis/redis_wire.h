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

#include "adapters/redis/redis_options.h"

namespace rushgate {

/// Belongs to the I/O thread, but for send() and is_stale(), which its owner guards together with
/// close(). Used once: connect(), then bytes in both directions, then close().
class RedisWire : public std::enable_shared_from_this<RedisWire> {
 public:
  /// Gets its events, on the I/O thread. None comes after close().
  class Owner {
   public:
    virtual ~Owner() = default;
    /// `failure` is empty if it is connected.
    virtual void connected(RedisWire& wire, const std::string& failure) = 0;
    /// Bytes have arrived, or the connection has ended: then `failure` says why.
    virtual void received(RedisWire& wire, std::string_view bytes, const std::string& failure) = 0;
    /// The bytes given to write() were sent, or the socket accepts bytes again.
    virtual void can_write(RedisWire& wire, const std::string& failure) = 0;
  };

  /// `tls` is null for a connection without TLS. `options` and `tls` outlive it.
  RedisWire(boost::asio::io_context& io, const RedisOptions& options,
            boost::asio::ssl::context* tls, std::shared_ptr<Owner> owner);

  void connect();
  /// Begins to read. To be called once, after connected().
  void read();
  void close();

  /// Without TLS, bytes can be sent at once, by any thread.
  [[nodiscard]] bool is_plain() const { return tls_ == nullptr; }
  /// send(2), without waiting. Not with TLS.
  [[nodiscard]] ssize_t send(std::string_view bytes);
  /// can_write() comes when the socket takes bytes again. Not with TLS.
  void wait_until_writable();
  /// With TLS: sends all of `bytes`; then can_write() comes.
  void write(std::string_view bytes);

  /// Returns true if the server has hung up, or said something unasked though it may not: nothing
  /// should be sent. To be asked while no reply is awaited.
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
  boost::asio::ip::tcp::resolver resolver_;
  Addresses addresses_;
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;
  std::unique_ptr<char[]> buffer_;
  std::string writing_;           // over TLS
  std::shared_ptr<Owner> owner_;  // null once closed
};

}  // namespace rushgate
