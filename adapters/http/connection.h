// A client of the HTTP server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include "absl/container/flat_hash_set.h"
#include "adapters/http/event_feed.h"
#include "adapters/http/exchange.h"
#include "adapters/http/sale_service.h"
#include <rushgate/http_server.h>

namespace rushgate::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

/// The connections of a server that are open. Thread-safe.
class OpenConnections {
 public:
  /// Returns false, and counts nothing, if there are `most`.
  [[nodiscard]] bool add(std::size_t most);
  void remove();
  [[nodiscard]] std::size_t count();
  /// Returns how often add() returned false.
  [[nodiscard]] std::uint64_t refused();
  /// Waits until there are none, at most `patience`.
  void wait_for_none(std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;  // guards the next two members
  std::size_t count_ = 0;
  std::uint64_t refused_ = 0;
  std::condition_variable is_none_;
};

/// A connection, as its thread sees it. It belongs to that thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;

  virtual void start() = 0;
  /// Closes it now, or after the reply to the current request.
  virtual void end() = 0;
  virtual void close() = 0;

  [[nodiscard]] bool is_late(std::int64_t now_ms) const { return now_ms > deadline_ms_; }

 protected:
  static constexpr std::int64_t kNever = INT64_MAX;

  std::int64_t deadline_ms_ = kNever;  // monotonic
};

/// A thread of the server, with its connections.
struct Loop {
  Loop(SaleService& sale_service, const HttpServerOptions& server_options, OpenConnections& counted)
      : service(sale_service), options(server_options), open(counted) {}

  SaleService& service;
  const HttpServerOptions& options;
  OpenConnections& open;
  asio::io_context io{1};
  asio::steady_timer sweep{io};
  absl::flat_hash_set<std::shared_ptr<Connection>> connections;
  bool is_stopping = false;  // no new requests
  bool is_done = false;      // no new work
};

/// Returns the monotonic time.
std::int64_t steady_ms();

/// Returns a reply as bytes: the header, and the body unless the request was HEAD.
std::string reply_bytes(const HttpAnswer& answer, bool keeps_alive, bool has_body);
/// Returns the reply to a request that cannot be read; nothing if the client is gone.
std::optional<HttpAnswer> refuse_unreadable(const beast::error_code& error);

using TlsStream = asio::ssl::stream<Socket>;

/// Returns the socket below a stream.
inline Socket& socket_of(Socket& stream) { return stream; }
inline Socket& socket_of(TlsStream& stream) { return stream.next_layer(); }

using RequestParser = beast::http::request_parser<beast::http::string_body>;
/// Returns the request that was read.
HttpCall take_call(RequestParser& parser, bool is_from_loopback);

/// Reads requests, one at a time, and replies to them in order. What a client sends in advance stays in
/// the socket, apart from the first 64 KiB.
template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Loop& loop, Stream stream, bool is_from_loopback)
      : loop_(loop), stream_(std::move(stream)), is_from_loopback_(is_from_loopback) {}
  ~StreamConnection() override { loop_.open.remove(); }

  void start() override {
    if constexpr (kIsTls) {
      set_deadline(loop_.options.header_timeout_ms);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = shared_from_this(), this](const beast::error_code& error) {
                                error ? close() : read_next();
                              });
    } else {
      read_next();
    }
  }

  void end() override {
    if (!is_busy_) close();
    is_ending_ = true;
  }

  void close() override {
    beast::error_code ignored;
    socket_of(stream_).close(ignored);
    loop_.connections.erase(shared_from_this());
  }

 private:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;
  static constexpr std::size_t kFirstBytes = 1'024;  // read of an idle connection
  static constexpr std::size_t kBufferBytesMax = 96 * 1'024;
  static constexpr std::size_t kKeptBytesMax = 4 * 1'024;  // while it is idle
  static constexpr std::size_t kIgnoredBytesMax = 256 * 1'024;
  static constexpr std::int64_t kLingerMs = 2'000;

  void set_deadline(std::int64_t in_ms) { deadline_ms_ = steady_ms() + in_ms; }

  /// Returns a completion that keeps the connection alive.
  template <class Next>
  auto then(Next next) {
    return [self = shared_from_this(), next](const beast::error_code& error, std::size_t bytes) {
      next(error, bytes);
    };
  }

  void read_next() {
    is_busy_ = false;
    if (is_ending_ || loop_.is_stopping) return close();
    if (buffer_.size() > 0) return read_header();
    parser_.reset();
    if (buffer_.capacity() > kKeptBytesMax) buffer_ = beast::flat_buffer(kBufferBytesMax);
    set_deadline(loop_.options.idle_timeout_ms);
    stream_.async_read_some(buffer_.prepare(kFirstBytes),
                            then([this](const beast::error_code& error, std::size_t bytes) {
                              if (error) return close();
                              buffer_.commit(bytes);
                              read_header();
                            }));
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(HttpServer::kHeaderBytesMax);
    parser_->body_limit(HttpServer::kBodyBytesMax);
    set_deadline(loop_.options.header_timeout_ms);
    beast::http::async_read_header(
        stream_, buffer_, *parser_,
        then([this](const beast::error_code& error, std::size_t /*bytes*/) {
          if (error) return refuse(error);
          if (parser_->is_done()) return handle();
          set_deadline(loop_.options.transfer_timeout_ms);
          begin_body();
        }));
  }

  void begin_body() {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
      return read_body();
    }
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      then([this](const beast::error_code& error, std::size_t /*bytes*/) {
                        if (error) return close();
                        read_body();
                      }));
  }

  void read_body() {
    beast::http::async_read(stream_, buffer_, *parser_,
                            then([this](const beast::error_code& error, std::size_t /*bytes*/) {
                              if (error) return refuse(error);
                              handle();
                            }));
  }

  void refuse(const beast::error_code& error) {
    const auto answer = refuse_unreadable(error);
    if (!answer) return close();
    is_busy_ = true;
    keeps_alive_ = false;
    has_body_ = true;
    send(*answer);
  }

  void handle() {
    if (loop_.is_stopping) return close();
    is_busy_ = true;
    deadline_ms_ = kNever;
    keeps_alive_ = parser_->keep_alive();
    has_body_ = parser_->get().method() != beast::http::verb::head;
    loop_.service.handle(take_call(*parser_, is_from_loopback_),
                         [self = shared_from_this(), this](HttpAnswer answer) mutable {
                           asio::dispatch(loop_.io, [self = std::move(self), this,
                                                     answer = std::move(answer)] { send(answer); });
                         });
  }

  void send(const HttpAnswer& answer) {
    if (is_ending_ || answer.events != nullptr) keeps_alive_ = false;
    events_ = answer.events;
    output_ = reply_bytes(answer, keeps_alive_, has_body_);
    set_deadline(loop_.options.transfer_timeout_ms);
    asio::async_write(stream_, asio::buffer(output_),
                      then([this](const beast::error_code& error, std::size_t /*bytes*/) {
                        output_ = {};
                        if (error) return close();
                        if (events_ != nullptr) return begin_events();
                        if (keeps_alive_) return read_next();
                        begin_linger();
                      }));
  }

  // ---- Events ----

  void begin_events() {
    if (is_ending_ || !has_body_) return close();
    is_busy_ = false;
    buffer_ = beast::flat_buffer(kBufferBytesMax);
    notice_end();
    await_events();
  }

  /// Closes the connection when the client does. What it sends is ignored, up to a bound.
  void notice_end() {
    stream_.async_read_some(buffer_.prepare(kFirstBytes),
                            then([this](const beast::error_code& error, std::size_t bytes) {
                              ignored_ += bytes;
                              if (error || ignored_ > kIgnoredBytesMax) return close();
                              notice_end();
                            }));
  }

  void await_events() {
    deadline_ms_ = kNever;
    const std::weak_ptr<Connection> alive = weak_from_this();
    events_->feed.wait(events_->position, alive, [alive, this](const EventChunk& chunk) {
      const auto self = alive.lock();
      if (self == nullptr) return;
      asio::post(loop_.io, [self, this, chunk] { send_events(chunk); });
    });
  }

  void send_events(const EventChunk& chunk) {
    if (!socket_of(stream_).is_open()) return;
    set_deadline(loop_.options.transfer_timeout_ms);
    asio::async_write(stream_, asio::buffer(*chunk.text),
                      then([this, chunk](const beast::error_code& error, std::size_t /*bytes*/) {
                        if (error) return close();
                        events_->position = chunk.position;
                        await_events();
                      }));
  }

  // ---- The end ----

  /// Reads what the client still sends, so that closing does not reset the connection before it has
  /// read the reply.
  void begin_linger() {
    if (loop_.is_stopping) return close();
    set_deadline(kLingerMs);
    is_busy_ = false;
    if constexpr (kIsTls) {
      stream_.async_shutdown(
          [self = shared_from_this(), this](const beast::error_code& /*error*/) { close(); });
    } else {
      beast::error_code ignored;
      stream_.shutdown(asio::socket_base::shutdown_send, ignored);
      buffer_ = beast::flat_buffer(kBufferBytesMax);
      linger();
    }
  }
  void linger() {
    socket_of(stream_).async_read_some(
        buffer_.prepare(kFirstBytes),
        then([this](const beast::error_code& error, std::size_t bytes) {
          ignored_ += bytes;
          if (error || ignored_ > kIgnoredBytesMax) return close();
          linger();
        }));
  }

  Loop& loop_;
  Stream stream_;
  const bool is_from_loopback_;
  beast::flat_buffer buffer_{kBufferBytesMax};
  std::optional<RequestParser> parser_;  // of the current request
  std::string output_;
  std::size_t ignored_ = 0;              // bytes that came after the last request
  std::shared_ptr<EventStream> events_;  // null: it gets none
  bool keeps_alive_ = true;
  bool has_body_ = true;
  bool is_busy_ = false;    // with a request that was read, until its reply is sent
  bool is_ending_ = false;  // after the current request
};

}  // namespace rushgate::http
