// The order pipeline: from the stream to the database, beside the database alone.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/sale/orders/order_worker.h"
#include "tests/bench/lines.h"
#include "tests/bench/order_database.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"

namespace rushgate::bench {
namespace {

constexpr int kAdmissionBatch = 1'000;
constexpr std::int64_t kOneByOneShare = 20;  // one at a time gets a twentieth of the orders

/// Orders a second that a worker brings from a stream filled beforehand into a new database; `rows`
/// gets what is in it then.
double worker_rate(std::int64_t count, int batch, std::vector<Order>& rows) {
  Shop shop(Durability::kOs);
  shop.rate_in_batches(count, kAdmissionBatch);
  const auto store = open_orders(shop.dir() / "orders.db");
  OrderWorker worker(shop.client(), *store, shop.engine().clock(), shop.sale().options().keys,
                     {.batch_max = batch});
  const Stopwatch watch;
  std::int64_t stored = 0;
  while (stored < count) {
    const OrderWorker::Step step = worker.step();
    if (step.kind != OrderWorker::Step::Kind::kWorked || step.buried > 0) fail(step.reason);
    stored += static_cast<std::int64_t>(step.stored);
  }
  const double rate = static_cast<double>(count) / watch.seconds();
  rows = read_orders(*store);
  return rate;
}

/// The same rows into a new database in transactions of `batch`.
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
  const std::string ours_is = "order worker, batches of " + std::to_string(batch);
  Comparison bare{.line = "orders from the stream to SQLite",
                  .unit = "orders/s",
                  .ours_is = ours_is,
                  .peer_is = "SQLite alone, transactions of " + std::to_string(batch),
                  .target = 0.8};
  Comparison one_by_one{.line = "orders from the stream to SQLite, beside one at a time",
                        .unit = "orders/s",
                        .ours_is = ours_is,
                        .peer_is = "order worker, one at a time",
                        .target = 4};
  std::vector<Order> rows;
  for (int round = 0; round < effort.rounds; ++round) {
    one_by_one.peer.add(worker_rate(few, 1, rows));
    const double ours = worker_rate(count, batch, rows);
    bare.ours.add(ours);
    one_by_one.ours.add(ours);
    bare.peer.add(bare_rate(rows, batch));
  }
  report.add(std::move(bare));
  report.add(std::move(one_by_one));
}

}  // namespace rushgate::bench
