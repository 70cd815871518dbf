#include "apps/shop.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>

#include "adapters/wiring/open_backend.h"
#include "apps/backlog.h"
#include "engine/base/make_directory.h"
#include "engine/sale/orders/consumers.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "storage/sqlite/sqlite_order_store.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

fs::path orders_in(const fs::path& dir) { return dir / "orders.db"; }

/// What an error would hide: a path that cannot be looked at is treated as missing, and opening it
/// says why.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string worker_name(int worker) { return fmt::format("c{}", worker); }

}  // namespace

std::filesystem::path keyspace_in(const std::filesystem::path& dir) { return dir / "keyspace"; }

absl::Status make_sale_directory(const std::filesystem::path& dir) {
  const absl::Status made = make_directory(dir);
  if (made.ok()) return made;
  return absl::InvalidArgumentError(
      fmt::format("cannot create directory {}: {}", dir.string(), std::string(made.message())));
}

// ---- Opening ----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Shop>> Shop::open(const ShopOptions& options) {
  std::unique_ptr<Shop> shop(new Shop(options));
  const absl::Status opened = shop->open_rooms();
  if (!opened.ok()) return opened;
  auto sale = Sale::open(*shop->backend_, *shop->orders_,
                         {.adopt = options.adopt, .logger = options.logger});
  if (absl::IsFailedPrecondition(sale.status())) {  // these stores do not belong together
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", options.dir.string(), std::string(sale.status().message())));
  }
  if (!sale.ok()) return sale.status();
  shop->sale_ = *std::move(sale);
  return shop;
}

absl::Status Shop::open_rooms() {
  const bool in_memory = options_.durability == Durability::kMemory;
  if (!options_.keyspace_url.empty()) return open_at_url();
  return in_memory ? open_memory() : open_directory();
}

absl::Status Shop::open_memory() {
  orders_ = std::make_unique<MemoryOrderStore>();
  return open_engine(std::make_unique<MemoryStore>());
}

absl::Status Shop::open_directory() {
  const fs::path keyspace = keyspace_in(options_.dir);
  const bool has_keyspace = is_there(keyspace);
  if (!has_keyspace && is_there(options_.dir / kLockFileName)) {
    return absl::InvalidArgumentError(
        fmt::format("the keyspace of the sale in {} is elsewhere: give its URL by --keyspace",
                    options_.dir.string()));
  }
  if (!options_.create && !has_keyspace) {
    return absl::NotFoundError(
        fmt::format("there is no sale in {}: no directory `keyspace`", options_.dir.string()));
  }
  // The orders are created first, so they are never missing unless somebody took them away. Without
  // them the sale would be taken for a new one.
  if (has_keyspace && !is_there(orders_in(options_.dir))) {
    return absl::DataLossError(
        fmt::format("{} is missing, though there is a keyspace", orders_in(options_.dir).string()));
  }
  if (!has_keyspace) {
    absl::Status opened = open_orders();
    if (!opened.ok()) return opened;
  }
  RocksDbStoreOptions store_options;
  store_options.durability = options_.durability;
  store_options.create_if_missing = options_.create;
  store_options.logger = options_.logger;
  auto store = RocksDbStore::open(keyspace, store_options);
  if (!store.ok()) return store.status();
  if (!orders_) {  // only now that the directory is ours
    absl::Status opened = open_orders();
    if (!opened.ok()) return opened;
  }
  return open_engine(*std::move(store));
}

absl::Status Shop::open_at_url() {
  const auto url = BackendUrl::parse(options_.keyspace_url);
  if (!url.ok()) return url.status();
  if (is_there(keyspace_in(options_.dir))) {
    return absl::InvalidArgumentError(fmt::format(
        "the sale in {} has a keyspace of its own: not for --keyspace", options_.dir.string()));
  }
  if (url->dir.lexically_normal() == options_.dir.lexically_normal()) {
    return absl::InvalidArgumentError(fmt::format(
        "the keyspace and the orders are both to be in {}: a keyspace needs a directory of its own",
        options_.dir.string()));
  }
  if (!options_.create && !is_there(orders_in(options_.dir))) {
    return absl::NotFoundError(
        fmt::format("there is no sale in {}: no `orders.db`", options_.dir.string()));
  }
  auto backend = open_backend(
      *url, {.create_if_missing = options_.create,
             .client_name = "rushgate",
             .connections_max = options_.workers + 1,  // each worker blocks, and one to spare
             .logger = options_.logger});
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  client_ = backend_->open_client();
  if (options_.create) {
    absl::Status created = make_sale_directory(options_.dir);
    if (!created.ok()) return created;
  }
  auto lock = DirectoryLock::take(options_.dir);
  if (!lock.ok()) return lock.status();
  lock_ = *std::move(lock);
  return open_orders();
}

absl::Status Shop::open_orders() {
  if (options_.create) {
    absl::Status created = make_sale_directory(options_.dir);
    if (!created.ok()) return created;
  }
  SqliteOrderStoreOptions sqlite;
  sqlite.logger = options_.logger;
  auto orders = SqliteOrderStore::open(orders_in(options_.dir), sqlite);
  if (!orders.ok()) return orders.status();
  orders_ = *std::move(orders);
  return absl::OkStatus();
}

absl::Status Shop::open_engine(std::unique_ptr<Store> store) {
  EngineOptions engine_options;
  engine_options.logger = options_.logger;
  auto engine = Engine::open(std::move(store), engine_options);
  if (!engine.ok()) return engine.status();
  backend_ = *std::move(engine);
  client_ = backend_->open_client();
  return absl::OkStatus();
}

Shop::~Shop() { stop_workers(); }

const Clock& Shop::clock() const { return backend_->clock(); }

absl::Status Shop::health() const { return backend_->health(); }

// ---- Workers ----------------------------------------------------------------------------------

absl::Status Shop::start_workers() {
  // The directory is locked, and the keyspace belongs to its database: no other worker of it runs.
  // So what an earlier one left pending is taken over at once, and not when it is old enough.
  const auto state = orders_->state();
  if (!state.ok()) return state.status();
  const auto gone = adopt_pending(*client_, keys(), state->identity,
                                  consumer_name(worker_name(1), state->identity));
  if (!gone.ok()) return gone.status();
  if (!gone->empty() && options_.logger) {
    options_.logger->warn(
        "order entries were deleted from {} while they were pending; those of their orders that "
        "were not stored before are lost (the audit names their users): {}",
        keys().order_stream, fmt::join(*gone, ", "));
  }
  constexpr std::int64_t kBlockMs = 10'000;  // stopping interrupts it
  for (int worker = 1; worker <= options_.workers; ++worker) {
    WorkerOptions worker_options;
    worker_options.consumer = worker_name(worker);
    worker_options.block_ms = kBlockMs;
    worker_options.trim = options_.trim;
    worker_options.logger = options_.logger;
    workers_.push_back(std::make_unique<OrderWorkerThread>(
        std::make_unique<OrderWorker>(*backend_, *orders_, keys(), worker_options)));
  }
  return absl::OkStatus();
}

void Shop::stop_workers() {
  for (const auto& worker : workers_) worker->stop();
}

absl::StatusOr<Backlog> Shop::backlog() {
  const auto unstored = has_unstored(*client_, keys());
  if (!unstored.ok()) return unstored.status();
  Backlog backlog;
  backlog.empty = !*unstored;
  for (const auto& worker : workers_) {
    if (backlog.pause_reason.empty()) backlog.pause_reason = worker->pause_reason();
  }
  return backlog;
}

std::size_t Shop::stored() const {
  std::size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->stored();
  return sum;
}

std::size_t Shop::buried() const {
  std::size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->buried();
  return sum;
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_orders_to_read(const fs::path& dir) {
  SqliteOrderStoreOptions sqlite;
  sqlite.read_only = true;
  auto orders = SqliteOrderStore::open(orders_in(dir), sqlite);
  if (!orders.ok()) return orders.status();
  return *std::move(orders);
}

}  // namespace rushgate
