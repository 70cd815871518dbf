// Compares the server for Redis clients with redis-server: the same commands from the same client.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_benchmark.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include <rushgate/redis_backend.h>
#include <rushgate/resp_server.h>

namespace rushgate::bench {
namespace {

constexpr int kPipelines[] = {1, 16, 128};
constexpr std::int64_t kKeys = 100'000;

struct Command {
  const char* name;
  std::string words;  // in the format of redis-benchmark
  double target;
  std::int64_t random_below = kKeys;
};

/// A `serve` part and a client of it.
class OurServer {
 public:
  OurServer() : process_("serve", {(scratch_.path() / "keyspace").string(), socket_path()}) {
    process_.numbers();  // it listens
    auto backend = RedisBackend::open(*RedisOptions::from_url("unix://" + socket_path()));
    if (!backend.ok()) throw std::runtime_error(backend.status().ToString());
    backend_ = *std::move(backend);
    client_ = backend_->open_client();
  }

  [[nodiscard]] std::string socket_path() const { return (scratch_.path() / "socket").string(); }
  [[nodiscard]] Client& client() { return *client_; }

 private:
  ScratchDirectory scratch_;
  PartProcess process_;
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Client> client_;
};

/// Loads the script, and creates its stock and the values for GET.
void prepare(Client& client, const std::string& socket_path, const Effort& effort) {
  client("SCRIPT", "LOAD", seckill_script().text());
  client("SET", kStockKey, kUnlimited);
  rate_by_redis_benchmark(socket_path, {.pipeline = 128, .random_below = kKeys}, effort.requests,
                          "SET key:__rand_int__ VXK");
}

/// Returns fewer requests for slower commands.
std::int64_t requests_at(const Effort& effort, int pipeline) {
  return pipeline == 1 ? effort.requests / 4 : effort.requests;
}

void compare(const Command& command, int pipeline, const Effort& effort, Report& report) {
  OurServer ours;
  RedisPeer redis(PeerDurability::kEverySec);
  prepare(ours.client(), ours.socket_path(), effort);
  prepare(redis.client(), redis.server().socket_path(), effort);
  const BenchmarkLoad load{.pipeline = pipeline, .random_below = command.random_below};
  const auto rate = [&](const std::string& socket_path) {
    return rate_by_redis_benchmark(socket_path, load, requests_at(effort, pipeline), command.words);
  };
  Comparison comparison{
      .line = fmt::format("{} over the socket, pipeline {}", command.name, pipeline),
      .unit = "requests/s",
      .ours_is = "RespServer, durability everysec",
      .peer_is = fmt::format("redis-server, appendfsync everysec; both by "
                             "redis-benchmark, {} connections",
                             load.connections),
      .target = command.target};
  for (int round = 0; round < effort.rounds; ++round) {
    comparison.ours.add(rate(ours.socket_path()));
    comparison.peer.add(rate(redis.server().socket_path()));
  }
  comparison.note = redis.rewrites();
  report.add(std::move(comparison));
}

}  // namespace

void serve(std::span<const std::string> arguments) {
  auto engine = Engine::open(open_store(Durability::kEverySec, arguments[0]),
                             {.latency_tracking = true});  // as in redis-server
  if (!engine.ok()) fail(engine.status().ToString());
  auto server = RespServer::start(**engine, {.bind_address = "", .unix_socket = arguments[1]});
  if (!server.ok()) fail(server.status().ToString());
  say({1});
  wait_for_the_end();
}

void measure_resp(const Effort& effort, Report& report) {
  const Command commands[] = {
      {.name = "SET", .words = "SET key:__rand_int__ VXK", .target = 0.9},
      {.name = "GET", .words = "GET key:__rand_int__", .target = 0.9},
      {.name = "INCR", .words = "INCR counter:__rand_int__", .target = 0.9},
      {.name = "SADD", .words = "SADD set element:__rand_int__", .target = 0.9},
      {.name = "XADD", .words = "XADD stream '*' field value", .target = 0.9},
      {.name = "EVALSHA of the seckill script",
       .words = fmt::format("EVALSHA {} 3 {} {} {} 1 __rand_int__ __rand_int__",
                            seckill_script().sha1(), kStockKey, kBuyersKey, kOrderStream),
       .target = 1.3,
       .random_below = BenchmarkLoad{}.random_below},
  };
  for (const Command& command : commands) {
    for (const int pipeline : kPipelines) compare(command, pipeline, effort, report);
  }
}

}  // namespace rushgate::bench
