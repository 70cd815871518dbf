#include "adapters/flash_sale/flash_sale.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <spdlog/logger.h>

#include "adapters/flash_sale/sale_directory.h"
#include "engine/base/concat.h"
#include "engine/sale/orders/backlog.h"
#include "engine/sale/orders/consumers.h"
#include "storage/memory/memory_order_store.h"
#include "storage/sqlite/sqlite_order_store.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

/// Returns false for an unreadable path: opening it reports the reason.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string worker_name(int number) { return concat("c", number); }

}  // namespace

// ---- Opening ----------------------------------------------------------------------------------

FlashSale::FlashSale(const FlashSaleOptions& options) : options_(options) {
  options_.sale.names_order_at_limit |= options_.names_order_at_limit;
  if (!options_.sale.logger) options_.sale.logger = options_.logger;
  if (!options_.worker.logger) options_.worker.logger = options_.logger;
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::string_view dir_or_url,
                                                           const FlashSaleOptions& options) {
  const auto place = BackendUrl::parse(dir_or_url);
  if (!place.ok()) return place.status();
  return open(*place, options);
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(const BackendUrl& place,
                                                           const FlashSaleOptions& options) {
  std::unique_ptr<FlashSale> sale(new FlashSale(options));
  absl::Status opened = sale->open_parts(place);
  if (opened.ok()) {
    opened = sale->open_sale(options.orders_dir.empty() ? place.dir : options.orders_dir);
  }
  if (!opened.ok()) return opened;
  return sale;
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::unique_ptr<Backend> backend,
                                                           std::unique_ptr<OrderStore> orders,
                                                           const FlashSaleOptions& options) {
  return open(std::move(backend), std::move(orders), nullptr, options);
}

absl::StatusOr<std::unique_ptr<FlashSale>> FlashSale::open(std::unique_ptr<Backend> backend,
                                                           std::unique_ptr<OrderStore> orders,
                                                           std::unique_ptr<VoucherStore> vouchers,
                                                           const FlashSaleOptions& options) {
  std::unique_ptr<FlashSale> sale(new FlashSale(options));
  sale->backend_ = std::move(backend);
  sale->orders_ = std::move(orders);
  sale->vouchers_ = std::move(vouchers);
  absl::Status opened = sale->open_sale({});
  if (!opened.ok()) return opened;
  return sale;
}

absl::Status FlashSale::open_parts(const BackendUrl& place) {
  if (options_.workers < 0) return absl::InvalidArgumentError("workers must not be negative");
  if (!options_.orders_dir.empty()) return open_apart(place);
  switch (place.kind) {
    case BackendUrl::Kind::kMemory:
      orders_ = std::make_unique<MemoryOrderStore>();
      return open_keyspace(place);
    case BackendUrl::Kind::kDirectory:
      return open_directory(place);
    case BackendUrl::Kind::kRedis:
      break;
  }
  return absl::InvalidArgumentError(
      "orders_dir is empty: a keyspace on a Redis needs a directory "
      "for its orders");
}

absl::Status FlashSale::open_directory(const BackendUrl& place) {
  const fs::path& dir = place.dir;
  const fs::path keyspace = keyspace_in(dir);
  const bool has_keyspace = is_there(keyspace);
  if (!has_keyspace && is_there(dir / kLockFileName)) {
    return absl::InvalidArgumentError(
        concat("the keyspace of the sale in ", dir.string(), " is elsewhere: give its URL"));
  }
  if (!options_.create_if_missing && !has_keyspace) {
    return absl::NotFoundError(
        concat("there is no sale in ", dir.string(), ": no directory `keyspace`"));
  }
  // The orders are created first, so they are missing only if they were removed. Without them the
  // sale would look new.
  if (has_keyspace && !is_there(orders_in(dir))) {
    return absl::DataLossError(
        concat(orders_in(dir).string(), " is missing, though there is a keyspace"));
  }
  if (!has_keyspace) {
    absl::Status opened = open_orders(dir);
    if (!opened.ok()) return opened;
  }
  BackendUrl inside = place;
  inside.dir = keyspace;
  absl::Status opened = open_keyspace(inside);
  if (!opened.ok() || orders_) return opened;
  return open_orders(dir);  // not earlier: now this process owns the directory
}

/// Opens the keyspace at `place` and the orders in a separate directory.
absl::Status FlashSale::open_apart(const BackendUrl& place) {
  const fs::path& dir = options_.orders_dir;
  if (is_there(keyspace_in(dir))) {
    return absl::InvalidArgumentError(
        concat("the sale in ", dir.string(), " has a keyspace of its own: open it without a URL"));
  }
  if (place.dir.lexically_normal() == dir.lexically_normal()) {
    return absl::InvalidArgumentError(concat("the keyspace and the orders are both to be in ",
                                             dir.string(),
                                             ": a keyspace needs a directory of its own"));
  }
  if (!options_.create_if_missing && !is_there(orders_in(dir))) {
    return absl::NotFoundError(concat("there is no sale in ", dir.string(), ": no `orders.db`"));
  }
  absl::Status opened = open_keyspace(place);
  if (!opened.ok()) return opened;
  if (options_.create_if_missing) {
    absl::Status created = create_sale_directory(dir);
    if (!created.ok()) return created;
  }
  auto lock = DirectoryLock::take(dir);
  if (!lock.ok()) return lock.status();
  lock_ = *std::move(lock);
  return open_orders(dir);
}

absl::Status FlashSale::open_keyspace(const BackendUrl& place) {
  OpenBackendOptions options;
  options.create_if_missing = options_.create_if_missing;
  options.client_name = "rushgate";
  options.connections_max += options_.workers;  // each worker blocks one
  options.logger = options_.logger;
  auto backend = open_backend(place, options);
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  return absl::OkStatus();
}

absl::Status FlashSale::open_orders(const fs::path& dir) {
  if (options_.create_if_missing) {
    absl::Status created = create_sale_directory(dir);
    if (!created.ok()) return created;
  }
  SqliteOrderStoreOptions sqlite;
  sqlite.logger = options_.logger;
  auto orders = SqliteOrderStore::open(orders_in(dir), sqlite);
  if (!orders.ok()) return orders.status();
  orders_ = *std::move(orders);
  return absl::OkStatus();
}

SaleStores FlashSale::stores() const {
  return vouchers_ ? SaleStores(*orders_, *vouchers_) : SaleStores(*orders_);
}

/// Opens the sale. If the stores do not belong together, the error names `dir`, if any.
absl::Status FlashSale::open_sale(const fs::path& dir) {
  client_ = backend_->open_client();
  auto sale = Sale::open(*backend_, stores(), options_.sale);
  if (absl::IsFailedPrecondition(sale.status())) {
    const std::string name = dir.empty() ? "" : dir.string() + ": ";
    return absl::InvalidArgumentError(name + std::string(sale.status().message()));
  }
  if (!sale.ok()) return sale.status();
  sale_ = *std::move(sale);
  buys_ = std::make_unique<BuyQueue>(*sale_, options_.submitted_max, options_.workers > 0);
  return options_.start_workers ? start_workers() : absl::OkStatus();
}

FlashSale::~FlashSale() {
  buys_.reset();
  stop_workers();
}

// ---- Workers ----------------------------------------------------------------------------------

WorkerOptions FlashSale::worker_options(int number) const {
  // Stopping interrupts it. On a Redis, it also bounds the time until a dead connection is noticed.
  constexpr std::int64_t kBlockMs = 10'000;
  WorkerOptions options = options_.worker;
  options.consumer = worker_name(number);
  if (options.block_ms == 0) options.block_ms = kBlockMs;
  return options;
}

absl::Status FlashSale::start_workers() {
  const std::lock_guard here(here_mutex_);
  const std::lock_guard lock(workers_mutex_);
  if (!workers_.empty()) return absl::FailedPreconditionError("the workers run already");
  worker_here_.reset();
  if (options_.workers == 0) return absl::OkStatus();
  absl::Status adopted = adopt_pending();
  if (!adopted.ok()) return adopted;
  for (int number = 1; number <= options_.workers; ++number) {
    workers_.push_back(std::make_shared<OrderWorkerThread>(
        std::make_unique<OrderWorker>(*backend_, stores(), keys(), worker_options(number))));
  }
  return absl::OkStatus();
}

/// Claims the entries that earlier workers left pending. No other process has workers on this
/// keyspace, so the entries need not be idle for long.
absl::Status FlashSale::adopt_pending() {
  const auto state = orders_->state();
  if (!state.ok()) return state.status();
  const auto gone = rushgate::adopt_pending(*client_, keys(), state->identity,
                                            consumer_name(worker_name(1), state->identity));
  if (!gone.ok()) return gone.status();
  if (!gone->empty() && options_.logger) {
    std::string ids;
    for (const std::string& id : *gone) ids += ids.empty() ? id : ", " + id;
    options_.logger->warn(
        "order entries were deleted from {} while they were pending; those of their orders that "
        "were not stored before are lost (the audit names their users): {}",
        keys().order_stream, ids);
  }
  return absl::OkStatus();
}

std::vector<std::shared_ptr<OrderWorkerThread>> FlashSale::running_workers() const {
  const std::lock_guard lock(workers_mutex_);
  return workers_;
}

// Uses the workers without the lock: their hooks may call the sale.
void FlashSale::stop_workers() {
  for (const auto& worker : running_workers()) worker->stop();
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) {
    stored_ += worker->stored();
    buried_ += worker->buried();
  }
  workers_.clear();
}

absl::StatusOr<Backlog> FlashSale::backlog() {
  const auto unstored = has_unstored(*client_, keys());
  if (!unstored.ok()) return unstored.status();
  Backlog backlog{.empty = !*unstored};
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) {
    if (backlog.pause_reason.empty()) backlog.pause_reason = worker->pause_reason();
  }
  return backlog;
}

std::size_t FlashSale::stored() const {
  const std::lock_guard lock(workers_mutex_);
  std::size_t sum = stored_;
  for (const auto& worker : workers_) sum += worker->stored();
  return sum;
}

std::size_t FlashSale::buried() const {
  const std::lock_guard lock(workers_mutex_);
  std::size_t sum = buried_;
  for (const auto& worker : workers_) sum += worker->buried();
  return sum;
}

// ---- Draining ---------------------------------------------------------------------------------

absl::Status FlashSale::drain(absl::FunctionRef<void(const std::string& note)> waiting) {
  buys_->decide_all();
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

absl::Status FlashSale::wait_for_workers(absl::FunctionRef<void(const std::string& note)> waiting) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{2};
  constexpr std::chrono::seconds kPatience{30};
  constexpr std::chrono::seconds kPatienceWithoutKeyspace{5};
  std::size_t done = 0;
  SteadyClock::time_point progress = SteadyClock::now();
  std::string reason;
  while (true) {
    const auto left = backlog();
    if (left.ok() && left->empty) {
      for (const auto& worker : running_workers()) worker->update_counts();
      return absl::OkStatus();
    }
    reason = left.ok() ? left->pause_reason : std::string(left.status().message());
    const std::size_t now_done = stored() + buried();
    if (now_done != done) progress = SteadyClock::now();
    done = now_done;
    absl::Status usable = health();
    if (!usable.ok()) return usable;
    if (SteadyClock::now() > progress + (left.ok() ? kPatience : kPatienceWithoutKeyspace)) break;
    waiting(reason.empty() ? "storing orders" : "the workers pause: " + reason);
    std::this_thread::sleep_for(kLook);
  }
  return absl::UnavailableError("accepted orders wait to be stored: " +
                                (reason.empty() ? "the workers make no progress" : reason));
}

/// Stores orders on the calling thread.
absl::Status FlashSale::store_here() {
  if (!worker_here_) {
    absl::Status adopted = adopt_pending();
    if (!adopted.ok()) return adopted;
    WorkerOptions options = worker_options(1);
    options.block_ms = 0;
    worker_here_ = std::make_unique<OrderWorker>(*backend_, stores(), keys(), options);
  }
  OrderWorker::Step step;
  do {
    step = worker_here_->step();
    const std::lock_guard lock(workers_mutex_);
    stored_ += step.stored;
    buried_ += step.buried;
  } while (step.kind == OrderWorker::Step::Kind::kWorked);
  if (step.kind == OrderWorker::Step::Kind::kPaused) {
    return absl::UnavailableError("accepted orders wait to be stored: " + step.reason);
  }
  const auto unstored = has_unstored(*client_, keys());
  if (!unstored.ok()) return unstored.status();
  if (*unstored) return absl::UnavailableError("accepted orders wait to be tried again");
  return absl::OkStatus();
}

}  // namespace rushgate
