#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>

#include "adapters/http/connection.h"
#include "adapters/http/sale_service.h"
#include "adapters/resp/file_reservation.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thread_name.h"
#include <rushgate/http_server.h>

namespace rushgate {

namespace asio = boost::asio;
using http::Loop;

class HttpServer::Impl {
 public:
  Impl(FlashSale& sale, HttpServerOptions options)
      : options_(std::move(options)),
        service_(std::make_unique<http::SaleService>(sale, options_, [this](HttpFigures& figures) {
          figures.connections = open_.count();
          figures.refused_connections = open_.refused();
        })) {}
  ~Impl() { stop(); }

  absl::Status start();
  void stop();
  absl::Status read_certificate();
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  [[nodiscard]] absl::Status check_options() const;
  absl::Status listen();
  void accept();
  void admit(http::Socket socket, Loop& loop);
  std::shared_ptr<http::Connection> connect(http::Socket socket, Loop& loop, bool is_from_loopback);
  void sweep(Loop& loop);
  [[nodiscard]] std::chrono::milliseconds sweep_period() const;
  static void run(Loop& loop);

  HttpServerOptions options_;  // constant after start()
  FileReservation files_;
  std::uint16_t port_ = 0;
  http::OpenConnections open_;
  std::mutex tls_mutex_;                     // guards the next member
  std::shared_ptr<asio::ssl::context> tls_;  // null: no TLS
  std::unique_ptr<http::SaleService> service_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::mutex stop_mutex_;             // guards the next member
  std::vector<std::thread> threads_;  // until stop()
  // Of the first loop's thread:
  std::optional<asio::ip::tcp::acceptor> acceptor_;
  std::optional<asio::steady_timer> accept_again_;
  std::size_t next_loop_ = 0;
  bool is_failing_ = false;  // no connection was accepted since a failure
};

// ---- Life cycle -------------------------------------------------------------------------------

absl::Status HttpServer::Impl::check_options() const {
  if (options_.threads < 1) return absl::InvalidArgumentError("threads must be at least 1");
  if (options_.connections_max < 1 || options_.purchases_waiting_max < 1 ||
      options_.waiting_max < 1) {
    return absl::InvalidArgumentError(
        "connections_max, purchases_waiting_max and waiting_max must be at least 1");
  }
  RETURN_IF_ERROR(service_->entrance().status());
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) {
    return absl::InvalidArgumentError("tls_certificate and tls_key belong together");
  }
  for (const std::int64_t timeout :
       {options_.header_timeout_ms, options_.transfer_timeout_ms, options_.idle_timeout_ms}) {
    if (timeout < 1) return absl::InvalidArgumentError("each timeout must be at least 1 ms");
  }
  return http::check_facts(options_);
}

absl::Status HttpServer::Impl::start() {
  RETURN_IF_ERROR(check_options());
  RETURN_IF_ERROR(read_certificate());
  RETURN_IF_ERROR(
      files_.reserve_for("connections_max", options_.connections_max, options_.logger.get()));
  for (int i = 0; i < options_.threads; ++i) {
    loops_.push_back(std::make_unique<Loop>(*service_, options_, open_));
  }
  RETURN_IF_ERROR(listen());
  accept();
  for (const auto& loop : loops_) {
    sweep(*loop);
    threads_.emplace_back([&loop = *loop] { run(loop); });
  }
  return absl::OkStatus();
}

absl::Status HttpServer::Impl::listen() {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(options_.bind_address, error);
  if (error) {
    return absl::InvalidArgumentError(
        concat("bind_address '", options_.bind_address, "' is no IP address"));
  }
  const asio::ip::tcp::endpoint endpoint(address, options_.port);
  acceptor_.emplace(loops_.front()->io);
  accept_again_.emplace(loops_.front()->io);
  acceptor_->open(endpoint.protocol(), error);
  if (!error) acceptor_->set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError(
        concat(options_.bind_address, " port ", options_.port, ": ", error.message()));
  }
  port_ = acceptor_->local_endpoint().port();
  return absl::OkStatus();
}

void HttpServer::Impl::stop() {
  constexpr std::chrono::seconds kPatience{10};  // with clients that read no replies
  const std::lock_guard lock(stop_mutex_);
  if (threads_.empty()) return;
  asio::post(loops_.front()->io, [this] {
    boost::system::error_code ignored;
    acceptor_->close(ignored);
    accept_again_->cancel();
  });
  for (const auto& loop : loops_) {
    asio::post(loop->io, [&loop = *loop] {
      loop.is_stopping = true;
      const auto connections = loop.connections;
      for (const auto& connection : connections) connection->end();
    });
  }
  open_.wait_for_none(kPatience);
  service_.reset();  // its threads may still reply
  for (const auto& loop : loops_) {
    asio::post(loop->io, [&loop = *loop] {
      const auto connections = loop.connections;
      for (const auto& connection : connections) connection->close();
      loop.is_done = true;
      loop.sweep.cancel();
    });
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

/// Ends when nothing is left to do: the acceptor, the connections and the timer are closed.
void HttpServer::Impl::run(Loop& loop) {
  name_this_thread("rg-http");
  loop.io.run();
}

// ---- Connections ------------------------------------------------------------------------------

void HttpServer::Impl::accept() {
  Loop& loop = *loops_[next_loop_++ % loops_.size()];
  acceptor_->async_accept(
      loop.io, [this, &loop](const boost::system::error_code& error, http::Socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
          is_failing_ = false;
          admit(std::move(socket), loop);
          return accept();
        }
        constexpr std::chrono::milliseconds kAgainAfter{100};
        if (!std::exchange(is_failing_, true) && options_.logger != nullptr) {
          log_warning(*options_.logger, concat("http: accept: ", error.message()));
        }
        accept_again_->expires_after(kAgainAfter);
        accept_again_->async_wait([this](const boost::system::error_code& gone) {
          if (!gone && acceptor_->is_open()) accept();
        });
      });
}

void HttpServer::Impl::admit(http::Socket socket, Loop& loop) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) return;
  if (!open_.add(options_.connections_max)) {
    const std::string refusal =
        http::reply_bytes(http::problem(http::kOverloaded, "too many connections"), false, true);
    socket.non_blocking(true, error);
    if (options_.tls_certificate.empty()) socket.send(asio::buffer(refusal), 0, error);
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  const auto connection = connect(std::move(socket), loop, peer.address().is_loopback());
  asio::post(loop.io, [&loop, connection] {
    if (loop.is_stopping) return;
    loop.connections.insert(connection);
    connection->start();
  });
}

std::shared_ptr<http::Connection> HttpServer::Impl::connect(http::Socket socket, Loop& loop,
                                                            bool is_from_loopback) {
  const std::lock_guard lock(tls_mutex_);
  if (tls_ == nullptr) {
    return std::make_shared<http::StreamConnection<http::Socket>>(loop, std::move(socket),
                                                                  is_from_loopback);
  }
  return std::make_shared<http::StreamConnection<http::TlsStream>>(
      loop, http::TlsStream(std::move(socket), *tls_), is_from_loopback);
}

/// Reads the certificate for new connections. After an error the one before stays.
absl::Status HttpServer::Impl::read_certificate() {
  using asio::ssl::context;
  if (options_.tls_certificate.empty()) return absl::OkStatus();
  auto tls = std::make_shared<context>(context::tls_server);
  boost::system::error_code error;
  tls->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                       context::no_tlsv1 | context::no_tlsv1_1,
                   error);
  const auto refuse = [&error](const std::filesystem::path& file) {
    return absl::InvalidArgumentError(concat(file.string(), ": ", error.message()));
  };
  if (!error) tls->use_certificate_chain_file(options_.tls_certificate.string(), error);
  if (error) return refuse(options_.tls_certificate);
  tls->use_private_key_file(options_.tls_key.string(), context::pem, error);
  if (error) return refuse(options_.tls_key);
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(tls);
  return absl::OkStatus();
}

std::chrono::milliseconds HttpServer::Impl::sweep_period() const {
  constexpr std::int64_t kMostMs = 1'000;
  const std::int64_t shortest = std::min(
      {options_.header_timeout_ms, options_.transfer_timeout_ms, options_.idle_timeout_ms});
  return std::chrono::milliseconds(std::clamp<std::int64_t>(shortest / 4, 1, kMostMs));
}

/// Closes late connections, now and periodically.
void HttpServer::Impl::sweep(Loop& loop) {
  if (loop.is_done) return;
  const std::int64_t now_ms = http::steady_ms();
  std::vector<std::shared_ptr<http::Connection>> late;
  for (const auto& connection : loop.connections) {
    if (connection->is_late(now_ms)) late.push_back(connection);
  }
  for (const auto& connection : late) connection->close();
  loop.sweep.expires_after(sweep_period());
  loop.sweep.async_wait([this, &loop](const boost::system::error_code& gone) {
    if (!gone) sweep(loop);
  });
}

// ---- The public class -------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(FlashSale& sale,
                                                              HttpServerOptions options) {
  auto impl = std::make_unique<Impl>(sale, std::move(options));
  RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::stop() { impl_->stop(); }
absl::Status HttpServer::reload_certificate() { return impl_->read_certificate(); }

}  // namespace rushgate
