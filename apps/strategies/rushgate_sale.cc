// (o) Rushgate's sale: an atomic script, a stream group, and a worker that stores orders in
// batches. The database also refuses a second order of a user. An audit compares both stores.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "apps/strategies/strategies.h"
#include "engine/sale/stream/backlog.h"
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate::strategies {
namespace {

class RushgateSale final : public Strategy {
 public:
  explicit RushgateSale(const Setting& setting)
      : Strategy(setting),
        orders_(SqliteOrderStore::open(OrderFile::in(setting.dir)).value()),
        sale_(Sale::open(*setting.backend, *orders_, {.keys = keys_}).value()) {}

  void publish() override {
    const absl::Status published =
        sale_->publish({.id = kVoucher, .stock = setting().stock, .end_ms = std::int64_t{1} << 42});
    if (!published.ok()) throw std::runtime_error(published.ToString());
  }

  void start() override {
    worker_ = std::make_unique<OrderWorkerThread>(std::make_unique<OrderWorker>(
        *setting().backend, *orders_, keys_, WorkerOptions{.block_ms = kBlockMs}));
  }

  Decision buy(Desk& desk, std::int64_t user) override {
    const BuyResult result = sale_->buy(kVoucher, user);
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
    while (has_unstored(*client, keys_).value()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    worker_->stop();
  }

  std::int64_t stock_left() override {
    const auto client = setting().backend->open_client();
    return std::stoll(must((*client)("GET", keys_.stock(kVoucher))).text());
  }

 private:
  static constexpr std::int64_t kBlockMs = 10'000;  // stop() interrupts it

  const SaleKeys keys_ = {.prefix = setting().prefix,
                          .id_prefix = setting().prefix + "id:",
                          .order_stream = setting().prefix + "orders"};
  const std::unique_ptr<OrderStore> orders_;
  const std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorkerThread> worker_;
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

}  // namespace rushgate::strategies
