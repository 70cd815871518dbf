#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/container/flat_hash_set.h"
#include "adapters/resp/file_reservation.h"
#include "adapters/resp/resp_connection.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/process_info.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thread_name.h"
#include "engine/redis/executor/served_session.h"
#include "engine/redis/executor/untaken_output.h"
#include <rushgate/resp_server.h>

namespace rushgate {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::chrono::milliseconds kAcceptAgainAfter{100};

constexpr std::uint32_t kModeMax = 0777;
constexpr std::int64_t kIdleTimeoutMaxS = 100LL * 365 * 86'400;  // a century: no sum overflows

constexpr std::size_t kGivenBackBytesMin = 16 * 1'024 * 1'024;

// Bounds the requests of a round, and their unsent replies. A single one may be larger.
constexpr std::size_t kRoundRequestBytesMax = 4 * 1'024 * 1'024;
constexpr std::size_t kRoundReplyBytesMax = 4 * 1'024 * 1'024;

absl::Status unavailable(std::string_view what, const boost::system::error_code& error) {
  return absl::UnavailableError(concat(what, ": ", error.message()));
}

template <class Protocol>
struct Listener {
  explicit Listener(asio::io_context& io) : acceptor(io), accept_again(io) {}

  typename Protocol::acceptor acceptor;
  asio::steady_timer accept_again;  // after a failed accept
  bool is_failing = false;          // no connection was accepted since
};

using FileIdentity = std::pair<dev_t, ino_t>;

/// Returns the identity of the unix socket at `path`, if there is one.
std::optional<FileIdentity> identity_of_socket(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return FileIdentity(status.st_dev, status.st_ino);
}

/// Returns OK if no server uses the socket. Otherwise returns the reason to assume one.
absl::Status expect_nobody(asio::io_context& io, const Local::endpoint& endpoint,
                           const std::string& path) {
  Local::socket asking(io);
  boost::system::error_code error;
  asking.open(endpoint.protocol(), error);
  if (!error) asking.non_blocking(true, error);  // the server may accept no connection
  if (!error) asking.connect(endpoint, error);
  if (error == asio::error::connection_refused) return absl::OkStatus();
  if (!error || error == asio::error::would_block || error == asio::error::try_again) {
    return absl::UnavailableError(concat(path, ": another server is there"));
  }
  return unavailable(path, error);
}

template <class Protocol>
absl::Status bind_to(Listener<Protocol>& listener, const typename Protocol::endpoint& endpoint,
                     std::string_view shown) {
  auto& acceptor = listener.acceptor;
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  return error ? unavailable(shown, error) : absl::OkStatus();
}

template <class Protocol>
absl::Status listen(Listener<Protocol>& listener, std::string_view shown) {
  boost::system::error_code error;
  listener.acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error ? unavailable(shown, error) : absl::OkStatus();
}

/// Sends at most three probes, a third of `idle_s` apart, as Redis does.
void keep_alive(int socket, std::int64_t idle_s) {
  const auto set = [&](int level, int option, std::int64_t value) {
    const int number = static_cast<int>(value);
    ::setsockopt(socket, level, option, &number, sizeof(number));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max<std::int64_t>(1, idle_s / 3));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

class RespServer::Impl final : private Connection::Owner {
 public:
  Impl(Engine& engine, RespServerOptions options) : engine_(engine), options_(std::move(options)) {}
  ~Impl() override { stop(EndOfScripts::kAwait); }

  absl::Status start();
  void stop(EndOfScripts scripts);
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  using Connections = std::vector<std::shared_ptr<Connection>>;

  absl::Status check_options() const;
  absl::Status read_program_commands();
  absl::Status listen_on_tcp();
  absl::Status listen_on_unix_socket();
  template <class Protocol>
  void accept(Listener<Protocol>& listener);
  void admit(Connection::Socket socket);
  void wants_turn(const std::shared_ptr<Connection>& connection) override {
    ready_.push_back(connection);
  }
  void memory_changed(std::size_t before, std::size_t after) override {
    clients_bytes_ += after - before;
    untaken_->set_held_bytes(clients_bytes_);
  }
  void closed(const std::shared_ptr<Connection>& connection) override {
    connections_.erase(connection);
  }
  [[nodiscard]] bool is_busy() const override { return is_busy_; }
  [[nodiscard]] SharedBuffers& buffers() override { return buffers_; }
  [[nodiscard]] std::shared_ptr<UntakenOutput> untaken_output() const override { return untaken_; }
  [[nodiscard]] const ProgramCommandTable* program_commands() const override {
    return program_commands_.get();
  }
  [[nodiscard]] std::shared_ptr<std::size_t> program_batches() const override {
    return program_batches_;
  }
  void run();
  Connections take_ready();
  void serve_ready();
  void run_batches();
  void hand_over(std::size_t batch);
  void serve_while_busy();
  static void reply_while_busy(Connection& connection);
  void look_around();
  void close_idle();
  void bound_memory();
  void give_back_memory();
  void look_around_every_second();
  void finish_program_batches();
  void close_all();

  // ---- Constant after start() ----
  Engine& engine_;
  RespServerOptions options_;
  FileReservation files_;
  std::uint16_t port_ = 0;
  std::optional<FileIdentity> local_socket_;
  std::shared_ptr<const ProgramCommandTable> program_commands_;  // null: none
  std::thread thread_;

  // ---- Of the server's thread ----
  const std::shared_ptr<asio::io_context> io_ = std::make_shared<asio::io_context>(1);
  Listener<Tcp> tcp_listener_{*io_};
  Listener<Local> local_listener_{*io_};
  asio::steady_timer look_around_{*io_};
  absl::flat_hash_set<std::shared_ptr<Connection>> connections_;
  Connections ready_;  // in order of arrival
  SharedBuffers buffers_;
  std::size_t clients_bytes_ = 0;  // of connections_
  const std::shared_ptr<UntakenOutput> untaken_ =
      std::make_shared<UntakenOutput>(options_.clients_bytes_max);
  std::size_t used_bytes_max_ = 0;             // peak of used memory since memory was last released
  std::size_t recent_used_bytes_max_ = 0;      // the same, since the last periodic check
  std::vector<ServedSession::Batch> batches_;  // of the current round
  Connections asking_;  // the owners, until their batches have begun; null: already replied
  const std::shared_ptr<std::size_t> program_batches_ = std::make_shared<std::size_t>(0);
  bool is_stopping_ = false;
  bool is_busy_ = false;  // in serve_while_busy()
};

// ---- Life cycle ----

absl::Status RespServer::Impl::check_options() const {
  if (options_.bind_address.empty() && options_.unix_socket.empty()) {
    return absl::InvalidArgumentError("neither an address nor a unix socket to listen on");
  }
  if (options_.clients_max == 0 || options_.query_bytes_max == 0 ||
      options_.output_bytes_max == 0) {
    return absl::InvalidArgumentError(
        "clients_max, query_bytes_max and output_bytes_max must be at least 1");
  }
  if (options_.unix_socket_mode > kModeMax) {
    return absl::InvalidArgumentError("unix_socket_mode must be at most 0777");
  }
  if (options_.tcp_keepalive_s < 0 || options_.tcp_keepalive_s > kTcpKeepaliveMaxS) {
    return absl::InvalidArgumentError(
        concat("tcp_keepalive_s must be from 0 to ", kTcpKeepaliveMaxS));
  }
  if (options_.idle_timeout_s < 0 || options_.idle_timeout_s > kIdleTimeoutMaxS) {
    return absl::InvalidArgumentError(
        concat("idle_timeout_s must be from 0 to ", kIdleTimeoutMaxS));
  }
  return absl::OkStatus();
}

absl::Status RespServer::Impl::start() {
  RETURN_IF_ERROR(check_options());
  RETURN_IF_ERROR(read_program_commands());
  RETURN_IF_ERROR(files_.reserve_for("clients_max", options_.clients_max, options_.logger.get()));
  absl::Status listening;
  if (!options_.bind_address.empty()) listening = listen_on_tcp();
  if (listening.ok() && !options_.unix_socket.empty()) listening = listen_on_unix_socket();
  if (!listening.ok()) return listening;
  ServedSession::set_server(engine_,
                            {.port = port_,
                             .clients_max = options_.clients_max,
                             .idle_timeout_s = options_.idle_timeout_s,
                             .tcp_keepalive_s = options_.tcp_keepalive_s,
                             .query_bytes_max = options_.query_bytes_max,
                             .clients_bytes_max = options_.clients_bytes_max,
                             .output_bytes_max = options_.output_bytes_max,
                             .subscriber_bytes_max = options_.subscriber_bytes_max,
                             .subscriber_soft_bytes_max = options_.subscriber_soft_bytes_max,
                             .subscriber_soft_s = options_.subscriber_soft_s});
  if (program_commands_ != nullptr) ServedSession::install(engine_, program_commands_);
  if (!engine_.is_manual()) look_around_every_second();
  thread_ = std::thread([this] { run(); });
  return listening;
}

absl::Status RespServer::Impl::read_program_commands() {
  if (options_.commands == nullptr) return absl::OkStatus();
  if (engine_.is_manual()) {
    return absl::InvalidArgumentError("an engine in manual mode takes no commands of the program");
  }
  ASSIGN_OR_RETURN(program_commands_, ProgramCommandTable::make(options_.commands->commands()));
  return absl::OkStatus();
}

absl::Status RespServer::Impl::listen_on_tcp() {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(options_.bind_address, error);
  if (error) {
    return absl::InvalidArgumentError(
        concat("bind_address '", options_.bind_address, "' is no IP address"));
  }
  if (!address.is_loopback() && options_.password.empty()) {
    return absl::InvalidArgumentError(
        concat("bind_address ", options_.bind_address,
               " can be reached from other machines: that takes a password"));
  }
  const Tcp::endpoint endpoint(address, options_.port);
  const std::string shown = concat(options_.bind_address, " port ", options_.port);
  absl::Status listening = bind_to(tcp_listener_, endpoint, shown);
  if (listening.ok()) listening = listen(tcp_listener_, shown);
  if (!listening.ok()) return listening;
  port_ = tcp_listener_.acceptor.local_endpoint().port();
  accept(tcp_listener_);
  return listening;
}

absl::Status RespServer::Impl::listen_on_unix_socket() {
  const std::string& path = options_.unix_socket;
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("unix_socket has a zero byte");
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(concat("unix_socket ", path, " is too long"));
  }
  const Local::endpoint endpoint(path);
  if (identity_of_socket(path)) {
    RETURN_IF_ERROR(expect_nobody(*io_, endpoint, path));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  absl::Status listening = bind_to(local_listener_, endpoint, path);
  // Before any client can connect.
  if (listening.ok() && options_.unix_socket_mode != 0 &&
      ::chmod(path.c_str(), options_.unix_socket_mode) != 0) {
    listening = absl::ErrnoToStatus(errno, concat("chmod ", path));
  }
  if (listening.ok()) listening = listen(local_listener_, path);
  if (!listening.ok()) return listening;
  local_socket_ = identity_of_socket(path);
  accept(local_listener_);
  return listening;
}

void RespServer::Impl::stop(EndOfScripts scripts) {
  if (!thread_.joinable()) return;
  const ServedSession::EndsScripts ends_scripts(engine_, scripts);
  asio::post(*io_, [this] { is_stopping_ = true; });
  thread_.join();
  if (program_commands_ != nullptr) ServedSession::remove_program_commands(engine_);
}

// ---- New clients ----

template <class Protocol>
void RespServer::Impl::accept(Listener<Protocol>& listener) {
  listener.acceptor.async_accept(
      [this, &listener](const boost::system::error_code& error, auto socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
          listener.is_failing = false;
          admit(Connection::Socket(std::move(socket)));
          return accept(listener);
        }
        // For example too many open files, which is temporary.
        const bool is_known = std::exchange(listener.is_failing, true);
        if (options_.logger != nullptr && !is_known) {
          log_warning(*options_.logger, concat("accept: ", error.message()));
        }
        listener.accept_again.expires_after(kAcceptAgainAfter);
        listener.accept_again.async_wait([this, &listener](const boost::system::error_code& gone) {
          if (!gone) accept(listener);
        });
      });
}

void RespServer::Impl::admit(Connection::Socket socket) {
  boost::system::error_code ignored;
  if (connections_.size() >= options_.clients_max) {
    constexpr std::string_view kRefusal = "-ERR max number of clients reached\r\n";
    socket.non_blocking(true, ignored);
    socket.send(asio::buffer(kRefusal.data(), kRefusal.size()), 0, ignored);
    ServedSession::note_refusal(engine_);
    return;
  }
  socket.set_option(Tcp::no_delay(true), ignored);  // fails for a unix socket, which is fine
  const std::int64_t keepalive_s = ServedSession::server(engine_).tcp_keepalive_s;
  if (keepalive_s > 0) keep_alive(socket.native_handle(), keepalive_s);
  Connection::Owner& owner = *this;
  const auto connection =
      std::make_shared<Connection>(io_, std::move(socket), engine_, options_, owner);
  connections_.insert(connection);
  connection->start();
}

// ---- Rounds ----

void RespServer::Impl::run() {
  name_this_thread("rg-resp");
  while (!is_stopping_) {
    io_->run_one();
    do {
      io_->poll();  // other ready clients join the same commit batch
      serve_ready();
    } while (!ready_.empty());
  }
  finish_program_batches();
  close_all();
}

/// Sends the replies to the program's commands. Nothing else runs meanwhile.
void RespServer::Impl::finish_program_batches() {
  constexpr std::chrono::seconds kPatience{10};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (*program_batches_ > 0 && io_->run_one_until(deadline) > 0) continue;
  for (const auto& connection : std::exchange(ready_, {})) {
    if (!connection->is_closed() && !connection->is_in_batch()) connection->end_turn();
  }
}

/// Takes the open ready connections without a running batch. Others stay ready.
RespServer::Impl::Connections RespServer::Impl::take_ready() {
  Connections open;
  Connections in_batch;
  for (auto& connection : std::exchange(ready_, {})) {
    if (connection->is_in_batch()) {
      in_batch.push_back(std::move(connection));
    } else if (!connection->is_closed()) {
      open.push_back(std::move(connection));
    }
  }
  ready_ = std::move(in_batch);
  return open;
}

/// Runs a batch of each ready connection. A connection with more requests is ready again, after the
/// others.
void RespServer::Impl::serve_ready() {
  std::size_t request_bytes = 0;
  for (auto& connection : take_ready()) {
    auto batch = connection->next_batch();
    const bool has_batch = batch.has_value();
    const bool moves_clock = !has_batch && connection->moves_clock_next();
    if (moves_clock) {
      run_batches();  // they came earlier
      connection->advance_clock();
    }
    const bool is_awaited = has_batch && !batch->completion;
    if (has_batch) batches_.push_back(*std::move(batch));
    if (!is_awaited) connection->end_turn();
    if (moves_clock) look_around();
    if (is_awaited) request_bytes += connection->batch_bytes();
    if (has_batch) asking_.push_back(connection);
    if (request_bytes > kRoundRequestBytesMax) {
      run_batches();
      request_bytes = 0;
    }
    bound_memory();
  }
  run_batches();
}

void RespServer::Impl::run_batches() {
  ServedSession::run(batches_, kRoundReplyBytesMax, [this] { serve_while_busy(); });
  // Connections beyond the bound are the first of the next round.
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].replies.empty()) hand_over(i);
  }
  for (std::size_t i = 0; i < batches_.size(); ++i) hand_over(i);
  batches_.clear();
  asking_.clear();
}

/// Passes the replies of the batch to its waiting connection, once.
void RespServer::Impl::hand_over(std::size_t batch) {
  const auto connection = std::exchange(asking_[batch], nullptr);
  if (connection == nullptr || !connection->is_in_batch()) return;
  connection->take_replies(batches_[batch].replies);
  connection->end_turn();
  bound_memory();
}

/// Serves other clients while a script takes too long.
void RespServer::Impl::serve_while_busy() {
  is_busy_ = true;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].is_replied) hand_over(i);
  }
  io_->poll();
  const Connections open = take_ready();
  for (const auto& connection : open) reply_while_busy(*connection);
  is_busy_ = false;
}

void RespServer::Impl::reply_while_busy(Connection& connection) {
  while (true) {
    auto batch = connection.next_batch();
    if (batch && batch->completion) {
      ServedSession::submit(*std::move(batch));
    } else if (batch) {
      ServedSession::reply_while_busy(*batch);
      connection.take_replies(batch->replies);
    } else if (connection.moves_clock_next()) {
      connection.advance_clock();
    } else {
      break;
    }
  }
  connection.end_turn();
}

/// Checks time-dependent conditions, such as idle clients.
void RespServer::Impl::look_around() {
  close_idle();
  Connections waiting;
  for (const auto& connection : connections_) {
    if (connection->is_backlogged()) waiting.push_back(connection);
  }
  for (const auto& connection : waiting) connection->check_backlog();
}

void RespServer::Impl::close_idle() {
  const std::int64_t idle_timeout_s = ServedSession::server(engine_).idle_timeout_s;
  if (idle_timeout_s == 0) return;
  const std::int64_t now_ms = engine_.clock().monotonic_ms();
  Connections idle;
  for (const auto& connection : connections_) {
    if (connection->idle_ms(now_ms) >= 1'000 * idle_timeout_s) idle.push_back(connection);
  }
  for (const auto& connection : idle) connection->close();
}

/// Closes the largest clients until the others fit the bound.
void RespServer::Impl::bound_memory() {
  const std::size_t used =
      clients_bytes_ + untaken_->bytes() + ServedSession::keyspace_bytes(engine_);
  recent_used_bytes_max_ = std::max(recent_used_bytes_max_, used);
  while (options_.clients_bytes_max != 0 && clients_bytes_ > options_.clients_bytes_max) {
    std::shared_ptr<Connection> largest;
    for (const auto& connection : connections_) {
      const std::size_t most = largest == nullptr ? 0 : largest->memory_bytes();
      if (connection->memory_bytes() > most && connection->is_evictable()) largest = connection;
    }
    if (largest == nullptr) return;
    largest->drop("all clients together hold more than clients_bytes_max, and it holds the most");
  }
}

/// Returns freed memory to the system: malloc keeps it.
void RespServer::Impl::give_back_memory() {
  const std::size_t used = std::exchange(recent_used_bytes_max_, 0);
  if (used + kGivenBackBytesMin > used_bytes_max_) {
    used_bytes_max_ = std::max(used_bytes_max_, used);
    return;
  }
  used_bytes_max_ = used;
  release_free_memory();
}

void RespServer::Impl::look_around_every_second() {
  look_around_.expires_after(std::chrono::seconds(1));
  look_around_.async_wait([this](const boost::system::error_code& gone) {
    if (gone) return;
    look_around();
    bound_memory();
    give_back_memory();
    look_around_every_second();
  });
}

void RespServer::Impl::close_all() {
  boost::system::error_code ignored;
  tcp_listener_.acceptor.close(ignored);
  tcp_listener_.accept_again.cancel();
  local_listener_.accept_again.cancel();
  look_around_.cancel();
  // Another server may have created a new socket.
  if (local_socket_ && identity_of_socket(options_.unix_socket) == local_socket_) {
    std::error_code gone;
    std::filesystem::remove(options_.unix_socket, gone);
  }
  local_listener_.acceptor.close(ignored);
  for (const auto& connection : std::exchange(connections_, {})) connection->close();
  io_->poll();  // cancelled operations release their connections
  ready_.clear();
}

// ---- The public class ----

absl::StatusOr<std::unique_ptr<RespServer>> RespServer::start(Engine& engine,
                                                              RespServerOptions options) {
  auto impl = std::make_unique<Impl>(engine, std::move(options));
  RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<RespServer>(new RespServer(std::move(impl)));
}

RespServer::RespServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RespServer::~RespServer() = default;

std::uint16_t RespServer::port() const { return impl_->port(); }
void RespServer::stop(EndOfScripts scripts) { impl_->stop(scripts); }

}  // namespace rushgate
