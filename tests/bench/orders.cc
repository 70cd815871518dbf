// Compares the order pipeline, from the stream to the database, with the database alone.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/lines.h"
#include "tests/bench/order_database.h"
#include "tests/bench/order_workers.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/order_worker.h>

namespace rushgate::bench {
namespace {

constexpr int kAdmissionBatch = 1'000;
constexpr std::int64_t kOneByOneShare = 20;  // single inserts get a twentieth of the orders

/// Returns orders per second that `workers` move from a filled stream to a new database. Sets
/// `rows` to the contents of that database.
double rate_of_workers(int workers, std::int64_t count, int batch, std::vector<Order>& rows) {
  Shop shop(Durability::kOs, open_orders_in);
  shop.rate_in_batches(count, kAdmissionBatch);
  const Stopwatch watch;
  auto order_workers = std::make_unique<OrderWorkers>(shop.engine(), shop.orders(), workers,
                                                      WorkerOptions{.batch_max = batch});
  order_workers->wait_until_stored(count);
  const double rate = static_cast<double>(count) / watch.seconds();
  order_workers.reset();
  rows = read_orders(shop.orders());
  return rate;
}

/// Returns rows per second for inserting the same rows into a new database in transactions of
/// `batch`.
double bare_rate(std::span<const Order> rows, int batch) {
  const ScratchDirectory directory;
  BareOrders orders(directory.path() / "orders.db");
  const Stopwatch watch;
  for (std::size_t done = 0; done < rows.size(); done += static_cast<std::size_t>(batch)) {
    orders.insert(
        rows.subspan(done, std::min(rows.size() - done, static_cast<std::size_t>(batch))));
  }
  return static_cast<double>(rows.size()) / watch.seconds();
}

}  // namespace

void measure_orders(const Effort& effort, Report& report) {
  const int batch = WorkerOptions{}.batch_max;
  const std::int64_t one_batch = std::max<std::int64_t>(effort.requests / kAdmissionBatch, 1);
  const std::int64_t count = std::max<std::int64_t>(one_batch * 2 / 5, 1) * kAdmissionBatch;
  const std::int64_t few =
      std::max<std::int64_t>(count / kOneByOneShare / kAdmissionBatch, 1) * kAdmissionBatch;
  const std::string batches = ", batches of " + std::to_string(batch);
  Comparison two{.line = "orders from the stream to SQLite, two workers",
                 .unit = "orders/s",
                 .ours_is = "two order workers" + batches,
                 .peer_is = "SQLite alone, transactions of " + std::to_string(batch),
                 .target = 0.8};
  Comparison one = two;
  one.line = "orders from the stream to SQLite, one worker";
  one.ours_is = "one order worker" + batches;
  one.target.reset();
  Comparison one_by_one{.line = "orders from the stream to SQLite, compared with one at a time",
                        .unit = "orders/s",
                        .ours_is = one.ours_is,
                        .peer_is = "one order worker, one at a time",
                        .target = 4};
  std::vector<Order> rows;
  for (int round = 0; round < effort.rounds; ++round) {
    one_by_one.peer.add(rate_of_workers(1, few, 1, rows));
    const double of_one = rate_of_workers(1, count, batch, rows);
    one.ours.add(of_one);
    one_by_one.ours.add(of_one);
    two.ours.add(rate_of_workers(2, count, batch, rows));
    const double of_sqlite = bare_rate(rows, batch);
    one.peer.add(of_sqlite);
    two.peer.add(of_sqlite);
  }
  for (Comparison* comparison : {&two, &one, &one_by_one}) report.add(std::move(*comparison));
}

}  // namespace rushgate::bench
