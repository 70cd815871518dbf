// A sale in manual mode that recovery tests can close and reopen.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>

namespace rushgate {

/// An engine in manual mode, the sale on it, and two workers: the contents of one process.
class RunningSale {
 public:
  static constexpr int kWorkers = 2;

  static absl::StatusOr<std::unique_ptr<RunningSale>> open(std::unique_ptr<Store> store,
                                                           OrderStore& orders, ManualClock& clock,
                                                           WorkerOptions worker_options = {}) {
    auto engine = Engine::open(std::move(store), {.manual_clock = &clock});
    if (!engine.ok()) return engine.status();
    std::unique_ptr<RunningSale> running(new RunningSale(*std::move(engine)));
    auto sale = Sale::open(*running->engine_, orders, {.id_block_size = 8});
    if (!sale.ok()) return sale.status();
    running->sale_ = *std::move(sale);
    for (int i = 0; i < kWorkers; ++i) {
      worker_options.consumer = "w" + std::to_string(i);
      running->workers_[static_cast<std::size_t>(i)] =
          std::make_unique<OrderWorker>(*running->engine_, orders, SaleKeys{}, worker_options);
    }
    return running;
  }

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] OrderWorker& worker(std::size_t i) { return *workers_.at(i); }

  /// Steps the workers until none has work left, moving time for retries. Returns false if they are
  /// not done after many retries.
  bool drain() {
    constexpr int kRetriesMax = 30;
    for (int retry = 0; retry < kRetriesMax; ++retry) {
      bool done = true;
      for (auto& worker : workers_) {
        OrderWorker::Step step = worker->step();
        for (; step.kind == OrderWorker::Step::Kind::kWorked; step = worker->step()) {
          done = done && step.faulted == 0;
        }
        done = done && step.kind == OrderWorker::Step::Kind::kIdle;
      }
      if (done) return true;
      engine_->advance_ms(WorkerOptions{}.retry_after_ms);
    }
    return false;
  }

 private:
  explicit RunningSale(std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)), client_(engine_->open_client()) {}

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::array<std::unique_ptr<OrderWorker>, kWorkers> workers_;
};

/// Returns a voucher that is on sale at every time that a test uses.
inline Voucher voucher_on_sale(VoucherId id, std::int64_t stock, std::int64_t per_user) {
  return {.id = id,
          .title = "voucher",
          .stock = stock,
          .begin_ms = 1'600'000'000'000,
          .end_ms = 4'000'000'000'000,
          .price_cents = 100,
          .limits = {.per_user = per_user}};
}

inline void expect_audit_passes(Sale& sale) {
  const auto report = sale.audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
}

}  // namespace rushgate
