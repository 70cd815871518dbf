// (o) Rushgate's sale: an atomic script, a stream group, and a worker that stores orders in
// batches. The database also refuses a second order of a user. An audit compares both stores.
//
// (q) The same with a voucher on several lanes, which are its shards. Pieces move to the lane that has buyers
// for them, and "sold out" is said when no lane has a piece.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apps/strategies/shards.h"
#include "apps/strategies/strategies.h"
#include "engine/sale/split/lane_pieces.h"
#include "engine/sale/stream/backlog.h"
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate::strategies {
namespace {

class RushgateSale : public Strategy {
 public:
  explicit RushgateSale(const Setting& setting, int lanes = 1)
      : Strategy(setting),
        lanes_(lanes),
        orders_(SqliteOrderStore::open(OrderFile::in(setting.dir)).value()),
        sale_(Sale::open(*setting.backend, *orders_, {.keys = keys_, .lanes = lanes}).value()) {}

  void publish() override {
    const absl::Status published = sale_->publish({.id = kVoucher,
                                                   .stock = setting().stock,
                                                   .end_ms = std::int64_t{1} << 42,
                                                   .lanes = lanes_});
    if (!published.ok()) throw std::runtime_error(published.ToString());
  }

  void start() override {
    for (const SaleLane& lane : sale_->lanes()) {
      workers_.push_back(std::make_unique<OrderWorkerThread>(std::make_unique<OrderWorker>(
          *setting().backend, lane.stores, lane.keys, WorkerOptions{.block_ms = kBlockMs})));
    }
  }

  Decision buy(Desk& desk, std::int64_t user) override {
    BuyResult result = sale_->buy(kVoucher, user);
    // It says "try again" if pieces move for longer than 200 ms.
    constexpr int kTriesMax = 100;
    for (int tries = 1; result.outcome == Outcome::kOverloaded && tries < kTriesMax; ++tries) {
      result = sale_->buy(kVoucher, user);
    }
    switch (result.outcome) {
      case Outcome::kAccepted:
        desk.schedule.half_done();
        return Decision::kAccepted;
      case Outcome::kSoldOut:
        return Decision::kSoldOut;
      case Outcome::kLimitReached:
        return Decision::kHasOne;
      default:
        throw std::runtime_error(result.detail);
    }
  }

  void finish() override {
    const auto client = setting().backend->open_client();
    for (const SaleLane& lane : sale_->lanes()) {
      while (has_unstored(*client, lane.keys).value()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    for (const auto& worker : workers_) worker->stop();
  }

  std::int64_t stock_left() override {
    const auto client = setting().backend->open_client();
    std::int64_t left = 0;
    const auto lanes = read_lane_pieces(*client, sale_->lanes(), kVoucher).value();
    for (const LanePieces& lane : lanes) {
      left += lane.free;
      // Of a move that was killed half-way, the next buyer who needs pieces does the rest.
      for (const auto& [to, pieces] : lane.to) left += pieces;
      for (const auto& [from, pieces] : lane.from) left -= pieces;
    }
    return left;
  }

 private:
  static constexpr std::int64_t kBlockMs = 10'000;  // stop() interrupts it

  const int lanes_;
  const SaleKeys keys_ = {.prefix = setting().prefix,
                          .id_prefix = setting().prefix + "id:",
                          .order_stream = setting().prefix + "orders"};
  const std::unique_ptr<OrderStore> orders_;
  const std::unique_ptr<Sale> sale_;
  std::vector<std::unique_ptr<OrderWorkerThread>> workers_;  // of each lane
};

class SplitVoucher final : public RushgateSale {
 public:
  explicit SplitVoucher(const Setting& setting) : RushgateSale(setting, kShards) {}
};

}  // namespace

StrategyKind rushgate_sale() {
  return {.letter = "o",
          .name = "Rushgate's sale",
          .has_keyspace = true,
          .forced = {},
          .faults = {},
          .make = make_strategy<RushgateSale>};
}

StrategyKind split_voucher() {
  return {.letter = "q",
          .name = "Rushgate's voucher on lanes",
          .has_keyspace = true,
          .forced = {{ScheduleKind::kFewShards, false}},
          .faults = {},
          .make = make_strategy<SplitVoucher>};
}

}  // namespace rushgate::strategies
