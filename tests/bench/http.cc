// Compares a sale by HTTP with a server that does nothing, and with what is commonly built.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/served_sale.h"
#include "tests/bench/shop.h"
#include "tests/bench/wrk.h"
#include <rushgate/flash_sale.h>
#include <rushgate/http_server.h>

namespace rushgate::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr VoucherId kSoldOutVoucher = 2;
constexpr int kServerThreads = 2;  // of ours by default
constexpr int kStreams = 1'000;

// ---- A server that returns a constant ---------------------------------------------------------

/// A connection of the server. Its handlers own it.
class ConstantSession : public std::enable_shared_from_this<ConstantSession> {
 public:
  explicit ConstantSession(tcp::socket socket) : stream_(std::move(socket)) {}

  void read() {
    request_ = {};
    beast::http::async_read(
        stream_, buffer_, request_,
        [self = shared_from_this()](const beast::error_code& error, std::size_t /*size*/) {
          if (!error) self->write();
        });
  }

 private:
  void write() {
    response_ = {beast::http::status::conflict, request_.version()};
    response_.set(beast::http::field::content_type, "application/problem+json");
    response_.keep_alive(request_.keep_alive());
    response_.body() = R"({"type":"/problems/sold-out","title":"Sold out","status":409})";
    response_.prepare_payload();
    beast::http::async_write(
        stream_, response_,
        [self = shared_from_this()](const beast::error_code& error, std::size_t /*size*/) {
          if (!error) self->read();
        });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  beast::http::request<beast::http::string_body> request_;
  beast::http::response<beast::http::string_body> response_;
};

void accept_constant(tcp::acceptor& acceptor, asio::io_context& io) {
  acceptor.async_accept(asio::make_strand(io),
                        [&](const beast::error_code& error, tcp::socket socket) {
                          if (!error) {
                            socket.set_option(tcp::no_delay(true));
                            std::make_shared<ConstantSession>(std::move(socket))->read();
                          }
                          accept_constant(acceptor, io);
                        });
}

// ---- Streams of events ------------------------------------------------------------------------

/// Clients that read GET /v1/vouchers/events, on a thread of their own.
class EventStreams {
 public:
  EventStreams(std::uint16_t port, int count) {
    const tcp::endpoint server(asio::ip::make_address("127.0.0.1"), port);
    for (int i = 0; i < count; ++i) {
      streams_.push_back(std::make_unique<Stream>(io_));
      tcp::socket& socket = streams_.back()->socket;
      socket.connect(server);
      ::fcntl(socket.native_handle(), F_SETFD,
              FD_CLOEXEC);  // not for wrk, which counts on few files
      asio::write(socket, asio::buffer(std::string_view(
                              "GET /v1/vouchers/events HTTP/1.1\r\nHost: localhost\r\n\r\n")));
      // Each is served before the measurement begins.
      if (socket.read_some(asio::buffer(streams_.back()->bytes)) == 0) fail("no event");
      read(*streams_.back());
    }
    thread_ = std::thread([this] { io_.run(); });
  }
  ~EventStreams() {
    io_.stop();
    thread_.join();
  }
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

 private:
  struct Stream {
    explicit Stream(asio::io_context& io) : socket(io) {}
    tcp::socket socket;
    std::array<char, 4'096> bytes;
  };

  static void read(Stream& stream) {
    stream.socket.async_read_some(asio::buffer(stream.bytes),
                                  [&stream](const beast::error_code& error, std::size_t /*size*/) {
                                    if (error) fail("a stream of events ended");
                                    read(stream);
                                  });
  }

  asio::io_context io_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::thread thread_;
};

// ---- Processor time ---------------------------------------------------------------------------

/// Returns the processor time of a process so far, in µs.
double processor_us(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) fail(fmt::format("no processor time of process {}", pid));
  return (user + system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// ---- The lines --------------------------------------------------------------------------------

std::uint16_t port_of(PartProcess& server) {
  return static_cast<std::uint16_t>(server.numbers().front());
}

/// Rates and latencies of a load, one comparison for each.
struct HttpComparison {
  Comparison rate;
  Comparison p99;

  HttpComparison(const std::string& line, const std::string& ours_is, const std::string& peer_is,
                 std::optional<double> target) {
    rate = {.line = line,
            .unit = "requests/s",
            .ours_is = ours_is,
            .peer_is = peer_is,
            .target = target};
    p99 = {.line = line + ": p99",
           .unit = "µs",
           .better = Better::kLess,
           .ours_is = ours_is,
           .peer_is = peer_is};
  }

  void add_ours(const WrkResult& result) {
    rate.ours.add(result.rate);
    p99.ours.add(result.p99_us);
  }
  void add_peer(const WrkResult& result) {
    rate.peer.add(result.rate);
    p99.peer.add(result.p99_us);
  }
  void report_to(Report& report) {
    report.add(std::move(rate));
    report.add(std::move(p99));
  }
};

/// Users that have not bought before.
class NewUsers {
 public:
  /// Buys for as long as `load` says. All requests must be accepted, or else refused.
  WrkResult buy(std::uint16_t port, VoucherId voucher, bool are_accepted, const WrkLoad& load) {
    const WrkResult result = purchase_by_wrk(port, voucher, first_, load);
    first_ += result.replies + load.connections;
    if (result.refusals != (are_accepted ? 0 : result.replies)) {
      fail(fmt::format("{} of {} purchases were refused", result.refusals, result.replies));
    }
    return result;
  }

 private:
  std::int64_t first_ = 1;
};

void compare_refusals(std::uint16_t ours, NewUsers& users, const WrkLoad& load, int rounds,
                      Report& report) {
  PartProcess constant("serve-constant", {});
  const std::uint16_t peer = port_of(constant);
  const std::string connections = fmt::format("wrk, {} connections", load.connections);
  HttpComparison comparison(
      "refused by HTTP", "HttpServer, a voucher that is sold out",
      fmt::format("a bare server of Boost.Beast that returns a constant, with as many threads; "
                  "both by {}",
                  connections),
      0.6);
  HttpComparison beside("refused by HTTP, beside 1,000 streams of events",
                        "HttpServer, and clients that read GET /v1/vouchers/events",
                        "HttpServer without them; both by " + connections, 0.9);
  for (int round = 0; round < rounds; ++round) {
    const WrkResult alone = users.buy(ours, kSoldOutVoucher, false, load);
    comparison.add_ours(alone);
    comparison.add_peer(users.buy(peer, kSoldOutVoucher, false, load));
    beside.add_peer(alone);
    const EventStreams streams(ours, kStreams);
    beside.add_ours(users.buy(ours, kSoldOutVoucher, false, load));
  }
  comparison.report_to(report);
  beside.report_to(report);
}

/// Node in its plainest form, and tuned: with as many processes as ours has threads, and pipelines.
void compare_accepted(const PartProcess& server, std::uint16_t ours, NewUsers& users,
                      const WrkLoad& load, int rounds, Report& report) {
  RedisPeer redis(PeerDurability::kEverySec);
  redis.client()("SET", kStockKey, kUnlimited);
  const auto compared_with = [&](const std::string& node) {
    return fmt::format(
        "Node's http and ioredis{}, which run the seckill script on redis-server, appendfsync "
        "everysec; both by wrk, {} connections",
        node, load.connections);
  };
  const std::string ours_is = "HttpServer, durability everysec";
  HttpComparison plain("accepted by HTTP", ours_is, compared_with(""), 4);
  Comparison processor{.line = "processor time of a purchase accepted by HTTP",
                       .unit = "µs",
                       .better = Better::kLess,
                       .ours_is = ours_is,
                       .peer_is = "Node and redis-server of the line above, both together"};
  HttpComparison tuned("accepted by HTTP, the peer tuned", ours_is,
                       compared_with(", two processes with automatic pipelines"), std::nullopt);
  const pid_t redis_pid = redis.server().pid();
  const auto node = [&](const char* processes, const char* pipelines) {
    return PartProcess("serve-node",
                       {redis.server().socket_path(), redis.script_sha(), processes, pipelines});
  };
  PartProcess plain_node = node("1", "false");
  PartProcess tuned_node = node("2", "true");
  const std::uint16_t plain_port = port_of(plain_node);
  const std::uint16_t tuned_port = port_of(tuned_node);
  for (int round = 0; round < rounds; ++round) {
    const double ours_before = processor_us(server.pid());
    const WrkResult result = users.buy(ours, kVoucher, true, load);
    processor.ours.add((processor_us(server.pid()) - ours_before) /
                       static_cast<double>(result.replies));
    plain.add_ours(result);
    tuned.add_ours(result);
    const double peer_before = processor_us(plain_node.pid()) + processor_us(redis_pid);
    const WrkResult peers = users.buy(plain_port, kVoucher, true, load);
    processor.peer.add((processor_us(plain_node.pid()) + processor_us(redis_pid) - peer_before) /
                       static_cast<double>(peers.replies));
    plain.add_peer(peers);
    tuned.add_peer(users.buy(tuned_port, kVoucher, true, load));
  }
  plain.report_to(report);
  report.add(std::move(processor));
  tuned.report_to(report);
}

}  // namespace

void serve_http(std::span<const std::string> arguments) {
  const auto sale = open_served_sale(
      arguments[0], {{.id = kVoucher, .stock = kUnlimited}, {.id = kSoldOutVoucher, .stock = 1}});
  if (sale->buy(kSoldOutVoucher, 1).outcome != Outcome::kAccepted)
    fail("the last piece was not sold");
  const auto server = HttpServer::start(*sale, {.port = 0, .threads = kServerThreads});
  if (!server.ok()) fail(server.status().ToString());
  say({static_cast<double>((*server)->port())});
  wait_for_the_end();
}

void serve_constant(std::span<const std::string> /*arguments*/) {
  asio::io_context io(kServerThreads);
  tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  accept_constant(acceptor, io);
  say({static_cast<double>(acceptor.local_endpoint().port())});
  std::vector<std::thread> threads;
  for (int i = 0; i < kServerThreads; ++i) threads.emplace_back([&io] { io.run(); });
  wait_for_the_end();
}

/// Becomes Node.
void serve_node(std::span<const std::string> arguments) {
  ::setenv("NODE_PATH", RUSHGATE_NODE_MODULES, 1);
  ::execlp("node", "node", RUSHGATE_HTTP_PEER, arguments[0].c_str(), arguments[1].c_str(),
           kStockKey, kBuyersKey, kOrderStream, arguments[2].c_str(), arguments[3].c_str(),
           nullptr);
  fail("cannot run node");
}

void measure_http(const Effort& effort, Report& report) {
  const WrkLoad load{.seconds =
                         static_cast<int>(std::max<std::int64_t>(1, effort.requests / 100'000))};
  const ScratchDirectory scratch;
  PartProcess server("serve-http", {(scratch.path() / "sale").string()});
  const std::uint16_t ours = port_of(server);
  NewUsers users;
  compare_refusals(ours, users, load, effort.rounds, report);
  compare_accepted(server, ours, users, load, effort.rounds, report);
}

}  // namespace rushgate::bench
