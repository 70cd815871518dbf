#include "adapters/flash_sale/sale_workers.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <thread>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stream/backlog.h"
#include "engine/sale/stream/consumers.h"

namespace rushgate {
namespace {

/// Returns the beginning of the names of this object's workers. The names of a process that is alone
/// stay, so that a crash leaves no consumers behind. Others draw a part of their names.
std::string draw_names(const std::string& wanted, bool is_alone) {
  if (!wanted.empty()) return wanted + '.';
  return is_alone ? "c" : concat(random_name(), ".c");
}

std::unique_ptr<ChangeFeed> make_feed(Backend& backend, const SaleStores& stores,
                                      const FlashSaleOptions& options) {
  if (!options.on_state) return nullptr;
  return std::make_unique<ChangeFeed>(*stores.orders.payments(), backend.clock(), options.worker,
                                      options.on_state, options.on_state_after);
}

std::unique_ptr<StockFeed> make_stock_feed(Backend& backend, Client& client,
                                           std::span<const SaleLane> lanes,
                                           const FlashSaleOptions& options) {
  if (!options.on_stock) return nullptr;
  return std::make_unique<StockFeed>(client, backend.clock(), lanes, options.on_stock,
                                     options.on_stock_every_ms, options.logger);
}

std::vector<SaleLane> select_lanes(std::span<const SaleLane> lanes,
                                   const std::vector<int>& wanted) {
  std::vector<SaleLane> selected;
  std::ranges::copy_if(lanes, std::back_inserter(selected), [&](const SaleLane& lane) {
    return wanted.empty() || std::ranges::find(wanted, lane.number) != wanted.end();
  });
  return selected;
}

}  // namespace

SaleWorkers::SaleWorkers(Backend& backend, Client& client, const SaleStores& stores,
                         std::span<const SaleLane> lanes, const FlashSaleOptions& options,
                         bool is_alone)
    : backend_(backend),
      client_(client),
      stores_(stores),
      lanes_(lanes),
      worked_(select_lanes(lanes, options.work_lanes)),
      options_(options),
      is_alone_(is_alone),
      names_(draw_names(options.worker.consumer, is_alone)),
      feed_(make_feed(backend, stores, options)),
      stock_feed_(make_stock_feed(backend, client, lanes, options)) {}

std::string SaleWorkers::worker_name(int number) const { return concat(names_, number); }

WorkerOptions SaleWorkers::worker_options(int number) const {
  // Stopping interrupts it. On a Redis, it also bounds the time until a dead connection is noticed.
  constexpr std::int64_t kBlockMs = 10'000;
  WorkerOptions options = options_.worker;
  options.consumer = worker_name(number);
  if (options.block_ms == 0) options.block_ms = kBlockMs;
  return options;
}

absl::Status SaleWorkers::start() {
  const std::lock_guard here(here_mutex_);
  const std::lock_guard lock(workers_mutex_);
  if (!workers_.empty()) return absl::FailedPreconditionError("the workers run already");
  workers_here_.clear();
  if (options_.workers == 0) return absl::OkStatus();
  RETURN_IF_ERROR(join_groups());
  constexpr std::int64_t kPauseMs = 100;
  for (const SaleLane& lane : worked_) {
    for (int number = 1; number <= options_.workers; ++number) {
      workers_.push_back(std::make_shared<OrderWorkerThread>(
          make_worker(lane, worker_options(number)), kPauseMs, after_step()));
    }
  }
  if (stock_feed_) stock_feed_->start();
  return absl::OkStatus();
}

std::unique_ptr<OrderWorker> SaleWorkers::make_worker(const SaleLane& lane,
                                                      const WorkerOptions& options) const {
  return std::make_unique<OrderWorker>(backend_, lane.stores, lane.keys, options);
}

OrderWorkerThread::AfterStep SaleWorkers::after_step() {
  return [this] {
    notices_.send();
    return report_changes();
  };
}

/// A lane whose server is away is left as it is: its workers take over what is idle in time.
absl::Status SaleWorkers::join_groups() {
  for (const SaleLane& lane : worked_) {
    const absl::Status joined = join_group(lane);
    if (!joined.ok() && !(lanes_.size() > 1 && absl::IsUnavailable(joined))) return joined;
  }
  return absl::OkStatus();
}

/// Takes over the entries that earlier workers left pending, if no other process can have workers.
/// Otherwise removes the idle consumers that have no entries: the workers themselves take over
/// entries that are idle for WorkerOptions::claim_idle_ms.
absl::Status SaleWorkers::join_group(const SaleLane& lane) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  if (is_alone_) return adopt_pending(lane, state.identity);
  return remove_idle_consumers(client_, lane.keys, state.identity, options_.worker.claim_idle_ms);
}

absl::Status SaleWorkers::adopt_pending(const SaleLane& lane, const std::string& identity) {
  ASSIGN_OR_RETURN(const auto gone,
                   rushgate::adopt_pending(client_, lane.keys, identity,
                                           consumer_name(worker_name(1), identity)));
  if (!gone.empty() && options_.logger) {
    std::string ids;
    for (const std::string& id : gone) ids += ids.empty() ? id : ", " + id;
    log_warning(*options_.logger, deleted_entries_message(lane.keys.order_stream, ids));
  }
  return absl::OkStatus();
}

std::vector<std::shared_ptr<OrderWorkerThread>> SaleWorkers::running() const {
  const std::lock_guard lock(workers_mutex_);
  return workers_;
}

// Uses the workers without the lock: their hooks may call the sale.
void SaleWorkers::stop() {
  if (stock_feed_) stock_feed_->stop();
  for (const auto& worker : running()) worker->stop();
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) ended_.add(worker->counts());
  workers_.clear();
}

absl::StatusOr<Backlog> SaleWorkers::backlog() {
  ASSIGN_OR_RETURN(const auto unstored, has_unstored(client_, lanes_));
  Backlog backlog{.empty = !unstored};
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) {
    if (backlog.pause_reason.empty()) backlog.pause_reason = worker->pause_reason();
  }
  return backlog;
}

WorkerStatistics SaleWorkers::statistics() const {
  const std::lock_guard lock(workers_mutex_);
  WorkerStatistics statistics{.running = workers_.size(), .counts = ended_};
  for (const auto& worker : workers_) {
    statistics.counts.add(worker->counts());
    if (std::string reason = worker->pause_reason(); !reason.empty()) {
      statistics.pause_reasons.push_back(std::move(reason));
    }
  }
  return statistics;
}

void SaleWorkers::report_stock() {
  if (stock_feed_ && options_.workers == 0) stock_feed_->report_if_due();
}

// ---- Draining ---------------------------------------------------------------------------------

absl::Status SaleWorkers::drain(absl::FunctionRef<void(const std::string& note)> waiting) {
  {
    const std::lock_guard here(here_mutex_);
    bool has_workers = false;
    {
      const std::lock_guard lock(workers_mutex_);
      has_workers = !workers_.empty();
    }
    if (!has_workers) return store_here();
  }
  return wait_for_workers(waiting);
}

/// Returns true if every change is reported. Otherwise wakes the workers, and does not wait for
/// them: the function may run for long.
absl::StatusOr<bool> SaleWorkers::has_reported() {
  if (!feed_) return true;
  const auto complete = feed_->is_complete();
  if (complete.ok() && *complete) return true;
  for (const auto& worker : running()) worker->interrupt();
  return complete;
}

/// Returns true if everything is stored and reported. Sets the reason if not.
absl::StatusOr<bool> SaleWorkers::is_drained(std::string& reason) {
  ASSIGN_OR_RETURN(const auto left, backlog());
  reason = left.pause_reason;
  if (!left.empty) return false;
  if (const auto reported = has_reported(); !reported.ok() || !*reported) return reported;
  for (const auto& worker : running()) worker->update_counts();
  return true;
}

absl::Status SaleWorkers::wait_for_workers(
    absl::FunctionRef<void(const std::string& note)> waiting) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{2};
  constexpr std::chrono::seconds kPatience{30};
  const std::chrono::milliseconds patience_with_failures{options_.patience_ms};
  std::size_t done = 0;
  SteadyClock::time_point progress = SteadyClock::now();
  std::string reason;
  while (true) {
    const auto is_done = is_drained(reason);
    if (is_done.ok() && *is_done) return absl::OkStatus();
    if (!is_done.ok()) reason = std::string(is_done.status().message());
    const std::size_t reported = feed_ ? static_cast<std::size_t>(feed_->position()) : 0;
    const std::size_t now_done = stored() + buried() + reported;
    if (now_done != done) progress = SteadyClock::now();
    done = now_done;
    absl::Status usable = backend_.health();
    if (!usable.ok() && !absl::IsUnavailable(usable)) return usable;
    const bool fails = !is_done.ok() || !usable.ok() || !reason.empty();
    if (SteadyClock::now() > progress + (fails ? patience_with_failures : kPatience)) break;
    waiting(reason.empty() ? "storing orders" : "the workers pause: " + reason);
    std::this_thread::sleep_for(kLook);
  }
  return absl::UnavailableError("accepted orders wait to be stored or reported: " +
                                (reason.empty() ? "the workers make no progress" : reason));
}

/// Stores orders and reports changes on the calling thread.
absl::Status SaleWorkers::store_here() {
  if (workers_here_.empty()) RETURN_IF_ERROR(make_workers_here());
  while (true) {
    absl::Status stepped;  // the other lanes go on after a failure of one
    for (const auto& worker : workers_here_) stepped.Update(step_here(*worker));
    RETURN_IF_ERROR(stepped);
    const auto reported = report_changes();
    if (!reported.ok()) {
      return absl::UnavailableError("changes of orders wait to be reported: " +
                                    std::string(reported.status().message()));
    }
    if (!*reported) break;  // the function may have changed other orders
  }
  ASSIGN_OR_RETURN(const auto unstored, has_unstored(client_, lanes_));
  if (unstored) return absl::UnavailableError("accepted orders wait to be tried again");
  return absl::OkStatus();
}

absl::Status SaleWorkers::make_workers_here() {
  WorkerOptions options = worker_options(1);
  options.block_ms = 0;
  RETURN_IF_ERROR(join_groups());
  for (const SaleLane& lane : worked_) workers_here_.push_back(make_worker(lane, options));
  return absl::OkStatus();
}

/// Runs steps of a worker until there is nothing to do.
absl::Status SaleWorkers::step_here(OrderWorker& worker) {
  OrderWorker::Step step;
  do {
    step = worker.step();
    {
      const std::lock_guard lock(workers_mutex_);
      ended_.add(step);
    }
    notices_.send();
  } while (step.kind == OrderWorker::Step::Kind::kWorked);
  if (step.kind != OrderWorker::Step::Kind::kPaused) return absl::OkStatus();
  return absl::UnavailableError("accepted orders wait to be stored: " + step.reason);
}

absl::StatusOr<bool> SaleWorkers::report_changes() {
  if (!feed_) return false;
  return feed_->report();
}

}  // namespace rushgate
