// Compares a sale by HTTP with a server that does nothing, and with what is commonly built.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
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

/// A server of this machine in a process of its own.
struct Server {
  Server(std::string_view part, const std::vector<std::string>& arguments)
      : process(part, arguments), port(static_cast<std::uint16_t>(process.numbers().front())) {}

  PartProcess process;
  std::uint16_t port = 0;
};

/// What a load cost the processes of a server.
struct MeasuredLoad {
  WrkResult wrk;
  double processor_us = 0;  // of a purchase
};

/// Rates, latencies and, if it was measured, processor time of a load, one comparison for each.
struct HttpComparison {
  Comparison rate;
  Comparison p99;
  Comparison processor;

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
    processor = {.line = line + ": processor time",
                 .unit = "µs",
                 .better = Better::kLess,
                 .ours_is = "all processes of " + ours_is,
                 .peer_is = "all processes of " + peer_is};
  }

  void add_ours(const WrkResult& result) {
    rate.ours.add(result.rate);
    if (result.p99_us > 0) p99.ours.add(result.p99_us);
  }
  void add_peer(const WrkResult& result) {
    rate.peer.add(result.rate);
    if (result.p99_us > 0) p99.peer.add(result.p99_us);
  }
  void add_ours(const MeasuredLoad& load) {
    add_ours(load.wrk);
    processor.ours.add(load.processor_us);
  }
  void add_peer(const MeasuredLoad& load) {
    add_peer(load.wrk);
    processor.peer.add(load.processor_us);
  }
  void report_to(Report& report) {
    report.add(std::move(rate));
    if (!p99.ours.empty()) report.add(std::move(p99));
    if (!processor.ours.empty()) report.add(std::move(processor));
  }
};

/// Users that have not bought before.
class NewUsers {
 public:
  /// Buys for as long as `load` says. All requests must be accepted, or else refused.
  WrkResult buy(std::uint16_t port, VoucherId voucher, bool are_accepted, const WrkLoad& load) {
    const WrkResult result = purchase_by_wrk(port, voucher, first_, load);
    // wrk makes one request before it begins, and leaves those of each connection unfinished.
    first_ += result.replies + std::int64_t{load.connections + 1} * load.pipeline;
    if (result.refusals != (are_accepted ? 0 : result.replies)) {
      fail(fmt::format("{} of {} purchases were refused", result.refusals, result.replies));
    }
    return result;
  }
  /// Does the same, with the processor time of the server's processes.
  MeasuredLoad buy_measured(std::uint16_t port, std::initializer_list<pid_t> processes,
                            bool are_accepted, const WrkLoad& load) {
    const double before = processor_us(processes);
    const WrkResult result = buy(port, kVoucher, are_accepted, load);
    return {
        .wrk = result,
        .processor_us = (processor_us(processes) - before) / static_cast<double>(result.replies)};
  }

 private:
  static double processor_us(std::initializer_list<pid_t> processes) {
    double sum = 0;
    for (const pid_t process : processes) sum += bench::processor_us(process);
    return sum;
  }

  std::int64_t first_ = 1;
};

std::string by_wrk(const WrkLoad& load) {
  const std::string at_once =
      load.pipeline > 1 ? fmt::format(", which send {} requests at once", load.pipeline) : "";
  return fmt::format("; both by wrk, {} connections{}", load.connections, at_once);
}

constexpr const char* kConstantServer =
    "a bare server of Boost.Beast that returns a constant, with as many threads";

void compare_refusals(std::uint16_t ours, std::uint16_t constant, NewUsers& users,
                      const WrkLoad& load, int rounds, Report& report) {
  HttpComparison comparison("refused by HTTP", "HttpServer, a voucher that is sold out",
                            kConstantServer + by_wrk(load), 0.6);
  HttpComparison beside("refused by HTTP, beside 1,000 streams of events",
                        "HttpServer, and clients that read GET /v1/vouchers/events",
                        "HttpServer without them" + by_wrk(load), 0.9);
  for (int round = 0; round < rounds; ++round) {
    const WrkResult alone = users.buy(ours, kSoldOutVoucher, false, load);
    comparison.add_ours(alone);
    comparison.add_peer(users.buy(constant, kSoldOutVoucher, false, load));
    beside.add_peer(alone);
    const EventStreams streams(ours, kStreams);
    beside.add_ours(users.buy(ours, kSoldOutVoucher, false, load));
  }
  comparison.report_to(report);
  beside.report_to(report);
}

/// Compares with Node in its plainest form, and tuned: with as many processes as ours has threads, and
/// pipelines to redis-server. What the bare server reaches is the most that the load allows. Where
/// clients pipeline, wrk takes a smaller part of the processors.
void compare_accepted(const Server& ours, const Server& constant, NewUsers& users,
                      const WrkLoad& load, int rounds, Report& report) {
  RedisPeer redis(PeerDurability::kEverySec);
  redis.client()("SET", kStockKey, kUnlimited);
  const std::string node_is = "Node's http and ioredis";
  const std::string redis_is =
      ", which run the seckill script on redis-server, appendfsync everysec";
  const std::string ours_is = "HttpServer, durability everysec";
  WrkLoad piped_load = load;
  piped_load.pipeline = 16;
  HttpComparison plain("accepted by HTTP", ours_is, node_is + redis_is + by_wrk(load), 4);
  HttpComparison piped("accepted by HTTP, 16 at once", ours_is,
                       node_is + redis_is + by_wrk(piped_load), 4);
  HttpComparison most("a constant by HTTP", kConstantServer, node_is + redis_is + by_wrk(load),
                      std::nullopt);
  HttpComparison most_piped("a constant by HTTP, 16 at once", kConstantServer,
                            node_is + redis_is + by_wrk(piped_load), std::nullopt);
  HttpComparison tuned(
      "accepted by HTTP, the peer tuned", ours_is,
      node_is + ", two processes with automatic pipelines" + redis_is + by_wrk(load), std::nullopt);
  const auto node = [&](const char* processes, const char* pipelines) {
    return std::vector{redis.server().socket_path(), redis.script_sha(), std::string(processes),
                       std::string(pipelines)};
  };
  const Server plain_node("serve-node", node("1", "false"));
  const Server tuned_node("serve-node", node("2", "true"));
  const pid_t redis_pid = redis.server().pid();
  for (int round = 0; round < rounds; ++round) {
    const MeasuredLoad single = users.buy_measured(ours.port, {ours.process.pid()}, true, load);
    plain.add_ours(single);
    tuned.add_ours(single.wrk);
    piped.add_ours(users.buy_measured(ours.port, {ours.process.pid()}, true, piped_load));
    most.add_ours(users.buy_measured(constant.port, {constant.process.pid()}, false, load));
    most_piped.add_ours(
        users.buy_measured(constant.port, {constant.process.pid()}, false, piped_load));
    const MeasuredLoad peer =
        users.buy_measured(plain_node.port, {plain_node.process.pid(), redis_pid}, true, load);
    plain.add_peer(peer);
    most.add_peer(peer);
    const MeasuredLoad piped_peer = users.buy_measured(
        plain_node.port, {plain_node.process.pid(), redis_pid}, true, piped_load);
    piped.add_peer(piped_peer);
    most_piped.add_peer(piped_peer);
    tuned.add_peer(users.buy(tuned_node.port, kVoucher, true, load));
  }
  for (HttpComparison* const comparison : {&plain, &tuned, &piped, &most, &most_piped}) {
    comparison->report_to(report);
  }
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
  const Server ours("serve-http", {(scratch.path() / "sale").string()});
  const Server constant("serve-constant", {});
  NewUsers users;
  compare_refusals(ours.port, constant.port, users, load, effort.rounds, report);
  compare_accepted(ours, constant, users, load, effort.rounds, report);
}

}  // namespace rushgate::bench
