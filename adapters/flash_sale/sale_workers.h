// The workers of a whole sale, their counts, and the wait until they have stored everything.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/flash_sale/change_feed.h"
#include "adapters/flash_sale/step_notices.h"
#include "adapters/flash_sale/stock_feed.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/sale_statistics.h>

namespace rushgate {

/// Thread-safe, except that start(), stop() and the destructor must not run concurrently. Does not
/// own its arguments, which must outlive it.
class SaleWorkers {
 public:
  /// `stores` are those of all lanes. `is_alone`: no other process can have workers on this keyspace and
  /// this order database.
  SaleWorkers(Backend& backend, Client& client, const SaleStores& stores,
              std::span<const SaleLane> lanes, const FlashSaleOptions& options, bool is_alone);
  ~SaleWorkers() { stop(); }
  SaleWorkers(const SaleWorkers&) = delete;
  SaleWorkers& operator=(const SaleWorkers&) = delete;

  // As in FlashSale:
  absl::Status start();
  void stop();
  absl::StatusOr<Backlog> backlog();
  [[nodiscard]] std::size_t stored() const { return statistics().counts.stored; }
  [[nodiscard]] std::size_t buried() const { return statistics().counts.buried; }
  [[nodiscard]] WorkerStatistics statistics() const;
  absl::Status drain(absl::FunctionRef<void(const std::string& note)> waiting);

  [[nodiscard]] std::shared_ptr<const void> on_step(std::function<void()> notice) {
    return notices_.add(std::move(notice));
  }

  /// Calls on_stock if that is due and the sale has no threads.
  void report_stock();

 private:
  [[nodiscard]] std::unique_ptr<OrderWorker> make_worker(const SaleLane& lane,
                                                         const WorkerOptions& options) const;
  absl::Status join_groups();
  absl::Status join_group(const SaleLane& lane);
  absl::Status adopt_pending(const SaleLane& lane, const std::string& identity);
  [[nodiscard]] std::string worker_name(int number) const;
  [[nodiscard]] WorkerOptions worker_options(int number) const;
  [[nodiscard]] std::vector<std::shared_ptr<OrderWorkerThread>> running() const;
  [[nodiscard]] OrderWorkerThread::AfterStep after_step();
  absl::StatusOr<bool> has_reported();
  absl::StatusOr<bool> is_drained(std::string& reason);
  absl::Status wait_for_workers(absl::FunctionRef<void(const std::string& note)> waiting);
  absl::Status store_here();
  absl::Status make_workers_here();
  absl::Status step_here(OrderWorker& worker);
  absl::StatusOr<bool> report_changes();

  Backend& backend_;
  Client& client_;
  const SaleStores stores_;
  const std::span<const SaleLane> lanes_;
  const std::vector<SaleLane> worked_;  // the lanes whose orders are stored here
  const FlashSaleOptions& options_;
  const bool is_alone_;
  const std::string names_;                      // the names of its workers begin with it
  const std::unique_ptr<ChangeFeed> feed_;       // null without FlashSaleOptions::on_state
  const std::unique_ptr<StockFeed> stock_feed_;  // null without FlashSaleOptions::on_stock
  StepNotices notices_;
  std::mutex here_mutex_;  // guards the next member
  // Of drain() without running workers, one for each lane that is worked.
  std::vector<std::unique_ptr<OrderWorker>> workers_here_;
  mutable std::mutex workers_mutex_;  // guards the next two members
  std::vector<std::shared_ptr<OrderWorkerThread>> workers_;
  WorkerCounts ended_;  // of workers that have ended
};

}  // namespace rushgate
