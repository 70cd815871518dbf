// Compares SALE.BUY with what other systems run on redis-server: their script, by EVALSHA.
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_benchmark.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/served_sale.h"
#include "tests/bench/shop.h"
#include <rushgate/flash_sale.h>
#include <rushgate/resp_server.h>
#include <rushgate/sale_commands.h>

namespace rushgate::bench {
namespace {

void compare_purchases(int pipeline, std::int64_t requests, const Effort& effort, Report& report) {
  const ScratchDirectory scratch;
  const std::string socket_path = (scratch.path() / "socket").string();
  PartProcess ours("serve-sale", {(scratch.path() / "sale").string(), socket_path});
  ours.numbers();  // it listens
  RedisPeer redis(PeerDurability::kEverySec);
  redis.client()("SCRIPT", "LOAD", seckill_script().text());
  redis.client()("SET", kStockKey, kUnlimited);
  const std::string theirs =
      fmt::format("EVALSHA {} 3 {} {} {} 1 1__rand_int__ 1__rand_int__", seckill_script().sha1(),
                  kStockKey, kBuyersKey, kOrderStream);
  const BenchmarkLoad load{.pipeline = pipeline};
  Comparison comparison{
      .line = fmt::format("SALE.BUY over the socket, pipeline {}", pipeline),
      .unit = "purchases/s",
      .ours_is = "RespServer with make_sale_commands(), durability everysec",
      .peer_is = fmt::format("EVALSHA of the seckill script on redis-server, appendfsync everysec; "
                             "both by redis-benchmark, {} connections",
                             load.connections),
      .target = pipeline == 1 ? 0.8 : 4.0};
  for (int round = 0; round < effort.rounds; ++round) {
    comparison.ours.add(rate_by_redis_benchmark(
        socket_path, load, requests, fmt::format("SALE.BUY {} 1__rand_int__", kVoucher)));
    comparison.peer.add(
        rate_by_redis_benchmark(redis.server().socket_path(), load, requests, theirs));
  }
  comparison.note = redis.rewrites();
  report.add(std::move(comparison));
}

}  // namespace

void serve_sale(std::span<const std::string> arguments) {
  FlashSaleOptions options;
  options.engine.latency_tracking = true;  // as in redis-server
  // redis-benchmark ends at the first error, and some of its random users come twice.
  Voucher voucher{.id = kVoucher, .stock = kUnlimited};
  voucher.limits.per_user = 1'000;
  const auto sale = open_served_sale(arguments[0], {voucher}, options);
  RespServerOptions server_options;
  server_options.bind_address = "";
  server_options.unix_socket = arguments[1];
  server_options.commands = make_sale_commands(*sale);
  const auto server =
      RespServer::start(dynamic_cast<Engine&>(sale->backend()), std::move(server_options));
  if (!server.ok()) fail(server.status().ToString());
  say({1});
  wait_for_the_end();
}

void measure_sale_commands(const Effort& effort, Report& report) {
  compare_purchases(1, effort.requests / 4, effort, report);
  for (const int pipeline : {16, 128}) {
    compare_purchases(pipeline, effort.requests, effort, report);
  }
}

}  // namespace rushgate::bench
