// The line "retention": what it costs that workers keep stored orders in the order stream, for a database that
// loses them. Compared with workers that remove them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/core/client/info_value.h"
#include "tests/bench/lines.h"
#include "tests/bench/order_database.h"
#include "tests/bench/order_workers.h"
#include "tests/bench/part_process.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include <rushgate/engine.h>
#include <rushgate/order_worker.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>

namespace rushgate::bench {
namespace {

constexpr int kSoldAtOnce = 1'000;
constexpr std::int64_t kHourMs = 3'600'000;

/// What one sale took, until all its orders were stored.
struct Run {
  double orders_per_second = 0;
  double memory = 0;  // bytes of the keyspace afterwards
  double disk = 0;
};

double used_memory(Client& client) {
  return std::stod(std::string(info_value(client("INFO", "memory").text(), "used_memory")));
}

/// Sells, and then stores with one worker.
Run sell_and_store(Backend& backend, std::int64_t count, std::int64_t retain_ms) {
  const ScratchDirectory directory;
  const auto orders = open_orders_in(directory.path());
  auto sale = Sale::open(backend, *orders);
  if (!sale.ok()) fail(sale.status().ToString());
  constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
  const absl::Status published = (*sale)->publish(
      {.id = kVoucher, .title = "bench", .stock = kUnlimited, .begin_ms = 0, .end_ms = kFarOffMs});
  if (!published.ok()) fail(published.ToString());
  for (std::int64_t done = 0; done < count; done += kSoldAtOnce) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = done; i < done + kSoldAtOnce; ++i) {
      requests.push_back({.voucher = kVoucher, .user = user_id(i)});
    }
    for (const BuyResult& result : (*sale)->buy_all(requests)) expect(Outcome::kAccepted, result);
  }
  const Stopwatch watch;
  const OrderWorkers worker(backend, *orders, 1, {.retain_ms = retain_ms, .retain_max = 2 * count});
  worker.wait_until_stored(count);
  Run run{.orders_per_second = static_cast<double>(count) / watch.seconds()};
  run.memory = used_memory(*backend.open_client());
  return run;
}

std::unique_ptr<Engine> open_engine(const ScratchDirectory& directory) {
  auto engine = Engine::open(open_store(Durability::kOs, directory.path()));
  if (!engine.ok()) fail(engine.status().ToString());
  return *std::move(engine);
}

Run run_embedded(std::int64_t count, std::int64_t retain_ms) {
  const ScratchDirectory directory;
  Run run = sell_and_store(*open_engine(directory), count, retain_ms);
  open_engine(directory);  // writes out the log, which has what was removed, too
  run.disk = directory_bytes(directory.path());
  return run;
}

Run run_on_redis(std::int64_t count, std::int64_t retain_ms) {
  RedisPeer redis(PeerDurability::kEverySec);
  auto backend = RedisBackend::open(*RedisOptions::from_url(redis.server().url()));
  if (!backend.ok()) fail(backend.status().ToString());
  Run run = sell_and_store(**backend, count, retain_ms);
  redis.client()("BGREWRITEAOF");
  while (redis.info("aof_rewrite_in_progress") + redis.info("aof_rewrite_scheduled") > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  run.disk = redis.info("aof_current_size");
  return run;
}

void measure(const std::string& keyspace, Run (*run)(std::int64_t count, std::int64_t retain_ms),
             const Effort& effort, Report& report) {
  const std::int64_t count = std::max<std::int64_t>(effort.requests / kSoldAtOnce, 1) * kSoldAtOnce;
  Comparison rate{.line = "orders stored and retained, " + keyspace,
                  .unit = "orders/s",
                  .ours_is = "one order worker that retains all orders, SQLite",
                  .peer_is = "one that removes them from the order stream"};
  Samples memory;
  Samples disk;
  for (int round = 0; round < effort.rounds; ++round) {
    const Run removed = run(count, 0);
    const Run retained = run(count, kHourMs);
    rate.peer.add(removed.orders_per_second);
    rate.ours.add(retained.orders_per_second);
    memory.add((retained.memory - removed.memory) / static_cast<double>(count));
    disk.add((retained.disk - removed.disk) / static_cast<double>(count));
  }
  report.add(std::move(rate));
  const std::string note = fmt::format("of {} orders with user, voucher and id",
                                       short_number(static_cast<double>(count)));
  report.add(Figure{.line = "a retained order in memory, " + keyspace,
                    .unit = "bytes",
                    .value = memory.median(),
                    .note = note});
  report.add(Figure{.line = "a retained order on the disk, " + keyspace,
                    .unit = "bytes",
                    .value = disk.median(),
                    .note = note});
}

}  // namespace

void measure_retention(const Effort& effort, Report& report) {
  measure("embedded", run_embedded, effort, report);
  measure("Redis", run_on_redis, effort, report);
}

}  // namespace rushgate::bench
