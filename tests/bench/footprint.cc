// Measures the cost of a sale in a program: while idle, at the start, and on disk.
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/part_process.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate::bench {
namespace {

namespace fs = std::filesystem;

/// A sale as README.md opens it, in a new directory.
struct OpenSale {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<OrderStore> orders;
  std::unique_ptr<Sale> sale;
};

template <class T>
T take(absl::StatusOr<T> result) {
  if (!result.ok()) fail(result.status().ToString());
  return *std::move(result);
}

OpenSale open_sale(const fs::path& dir) {
  OpenSale shop;
  shop.engine = take(Engine::open(open_store(Durability::kOs, dir / "keyspace")));
  shop.orders = take(SqliteOrderStore::open(dir / "orders.db"));
  shop.sale = take(Sale::open(*shop.engine, *shop.orders));
  return shop;
}

void sleep_seconds(double seconds) {
  double whole = 0;
  const double rest = std::modf(seconds, &whole);
  const timespec length{.tv_sec = static_cast<time_t>(whole),
                        .tv_nsec = static_cast<long>(rest * 1e9)};
  ::nanosleep(&length, nullptr);
}

void measure_idling(const Effort& effort, Report& report) {
  constexpr double kMinute = 60;
  const ScratchDirectory scratch;
  const double seconds =
      first_numbers("idle", {scratch.path().string(), std::to_string(effort.idle_seconds)})[0];
  report.add(
      Figure{.line = "a minute of an open sale in which nothing happens",
             .unit = "ms of CPU time",
             .value = seconds * 1'000 * kMinute / effort.idle_seconds,
             .note = fmt::format("durability os, with a worker that waits for orders; from {} s",
                                 short_number(effort.idle_seconds))});
}

void measure_start(const Effort& effort, Report& report) {
  Samples milliseconds;
  for (int round = 0; round < effort.rounds; ++round) {
    const ScratchDirectory scratch;
    milliseconds.add(first_numbers("start", {scratch.path().string()})[0] * 1'000);
  }
  report.add(Figure{.line = "opening store, engine and sale in an empty directory",
                    .unit = "ms",
                    .value = milliseconds.median(),
                    .target = 50,
                    .note = fmt::format("{} to {} in {} processes, durability os",
                                        with_unit(milliseconds.min(), "ms"),
                                        with_unit(milliseconds.max(), "ms"), milliseconds.size())});
}

void measure_size(const std::string& what, const fs::path& program, Report& report) {
  const ScratchDirectory scratch;
  const fs::path stripped = scratch.path() / "stripped";
  const std::string command =
      fmt::format("strip -o '{}' '{}'", stripped.string(), program.string());
  if (std::system(command.c_str()) != 0) fail(command);
  report.add(Figure{.line = "size of " + what,
                    .unit = "bytes",
                    .value = static_cast<double>(fs::file_size(stripped)),
                    .note = "stripped; without the shared libraries of other projects"});
}

}  // namespace

void start(std::span<const std::string> arguments) {
  const Stopwatch watch;
  const OpenSale shop = open_sale(arguments[0]);
  say({watch.seconds()});
}

void idle(std::span<const std::string> arguments) {
  const OpenSale shop = open_sale(arguments[0]);
  const OrderWorkerThread worker(std::make_unique<OrderWorker>(
      *shop.engine, *shop.orders, shop.sale->options().keys, WorkerOptions{.block_ms = 10'000}));
  const double before = cpu_seconds();
  sleep_seconds(std::stod(arguments[1]));
  say({cpu_seconds() - before});
}

void measure_footprint(const Effort& effort, Report& report) {
  measure_idling(effort, report);
  measure_start(effort, report);
  measure_size("a program with the engine, in memory", RUSHGATE_SMALLEST_PROGRAM, report);
  measure_size("a program with engine, RocksDB and SQLite stores", RUSHGATE_SMALL_PROGRAM, report);
#ifdef RUSHGATE_PROGRAM
  measure_size("the rushgate command", RUSHGATE_PROGRAM, report);
#endif
}

}  // namespace rushgate::bench
