#include "tests/bench/redis_peer.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/hiredis_connection.h"
#include "tests/bench/redis_benchmark.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kUnlimitedStock = 1'000'000'000'000;
constexpr std::int64_t kBuyer = 7;  // has bought before

testing::RedisServerOptions server_options(PeerDurability durability,
                                           RedisPeer::Rewrites rewrites) {
  constexpr std::chrono::minutes kToLoadItsFile{5};
  if (durability == PeerDurability::kNone) return {};
  testing::RedisServerOptions options;
  options.append_only = true;
  options.patience = kToLoadItsFile;
  options.where = TemporaryDirectory::Where::kInTmp;  // with a disk to synchronise
  options.arguments = {"--appendfsync",
                       durability == PeerDurability::kAlways ? "always" : "everysec"};
  if (rewrites == RedisPeer::Rewrites::kNone) {
    options.arguments.insert(options.arguments.end(), {"--auto-aof-rewrite-percentage", "0"});
  }
  return options;
}

std::unique_ptr<RedisBackend> connect(const testing::RedisServer& server) {
  auto backend = RedisBackend::open(*RedisOptions::from_url(server.url()));
  if (!backend.ok()) throw std::runtime_error(backend.status().ToString());
  return *std::move(backend);
}

void check(const Reply& reply) {
  if (reply.is_error()) throw std::runtime_error("redis-server: " + reply.text());
}

}  // namespace

RedisPeer::RedisPeer(PeerDurability durability, Rewrites rewrites)
    : server_(server_options(durability, rewrites)),
      backend_(connect(server_)),
      client_(backend_->open_client()) {
  sha_ = (*client_)("SCRIPT", "LOAD", seckill_script().text()).text();
}

void RedisPeer::prepare(Workload workload) {
  check((*client_)("FLUSHALL", "SYNC"));
  check((*client_)("SET", kStockKey, workload == Workload::kSoldOut ? 0 : kUnlimitedStock));
  if (workload == Workload::kAlreadyBought) check((*client_)("SADD", kBuyersKey, kBuyer));
}

double RedisPeer::rate(Workload workload, std::int64_t count) {
  return rate_of(load_, workload, count);
}

void RedisPeer::try_loads(Workload workload, std::int64_t requests) {
  constexpr Load kLoads[] = {{false, 50, 16}, {false, 50, 32}, {false, 50, 128}, {false, 8, 128},
                             {true, 2, 32},   {true, 2, 256},  {true, 8, 128}};
  double best = 0;
  for (const Load& load : kLoads) {
    const double rate = rate_of(load, workload, requests);
    if (rate <= best) continue;
    best = rate;
    load_ = load;
  }
}

void RedisPeer::sell(std::int64_t count) {
  constexpr Load kLoad{.is_hiredis = true, .connections = 2, .pipeline = 256};
  rate_by_hiredis(kLoad, Workload::kAccepted, count);
}

std::string RedisPeer::load() const {
  return fmt::format("{}, {} connections, pipeline {}",
                     load_.is_hiredis ? "hiredis" : "redis-benchmark", load_.connections,
                     load_.pipeline);
}

double RedisPeer::rate_of(const Load& load, Workload workload, std::int64_t count) {
  if (load.is_hiredis) return rate_by_hiredis(load, workload, count);
  const std::string user =
      workload == Workload::kAlreadyBought ? std::to_string(kBuyer) : std::string("__rand_int__");
  return rate_by_redis_benchmark(
      server_.socket_path(), {.connections = load.connections, .pipeline = load.pipeline}, count,
      fmt::format("EVALSHA {} 3 {} {} {} 1 {} __rand_int__", sha_, kStockKey, kBuyersKey,
                  kOrderStream, user));
}

double RedisPeer::rate_by_hiredis(const Load& load, Workload workload, std::int64_t count) {
  const std::int64_t first = std::exchange(next_user_, next_user_ + count);
  const std::int64_t share = count / load.connections;
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (int i = 0; i < load.connections; ++i) {
    threads.emplace_back([&, i] {
      HiredisConnection connection(server_.socket_path());
      for (std::int64_t done = 0; done < share; done += load.pipeline) {
        for (int j = 0; j < load.pipeline; ++j) {
          const std::int64_t user =
              workload == Workload::kAlreadyBought ? kBuyer : user_id(first + i * share + done + j);
          connection.append(
              Request::of("EVALSHA", sha_, 3, kStockKey, kBuyersKey, kOrderStream, 1, user, user));
        }
        for (int j = 0; j < load.pipeline; ++j) connection.next_integer();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(count) / watch.seconds();
}

double RedisPeer::info(const std::string& field) {
  const std::string text = (*client_)("INFO", "everything").text();
  const auto at = text.find("\n" + field + ":");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + field.size() + 2, nullptr);
}

std::string RedisPeer::rewrites() {
  return fmt::format("{} rewrites of Redis's append-only file", info("aof_rewrites"));
}

}  // namespace rushgate::bench
