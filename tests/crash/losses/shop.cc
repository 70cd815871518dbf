#include "tests/crash/losses/shop.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/sale/stream/group_progress.h"
#include <rushgate/memory_store.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate::losses {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

template <class T>
T value_of(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

const absl::Status& status_of(const absl::Status& status) { return status; }
template <class T>
const absl::Status& status_of(const absl::StatusOr<T>& result) {
  return result.status();
}

void check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// Retries while the keyspace is unavailable. A replica with a deadline may be late.
template <class Attempt>
auto when_available(Attempt attempt) {
  const auto deadline = Steady::now() + kPatience;
  auto result = attempt();
  while (absl::IsUnavailable(status_of(result)) && Steady::now() < deadline) result = attempt();
  return result;
}

std::unique_ptr<Store> open_store(const std::filesystem::path& dir, Durability durability) {
  if (durability == Durability::kMemory) return std::make_unique<MemoryStore>();
  return value_of(RocksDbStore::open(dir / "keyspace", {.durability = durability}));
}

/// Returns true if a retry may succeed.
bool is_worth_waiting(Outcome outcome) {
  return outcome == Outcome::kOverloaded || outcome == Outcome::kUnavailable ||
         outcome == Outcome::kOutcomeUnknown;
}

}  // namespace

Shop::Shop(const std::filesystem::path& dir, Durability durability, std::int64_t stock)
    : orders_(value_of(SqliteOrderStore::open(dir / "orders.db"))),
      backend_(value_of(Engine::open(open_store(dir, durability)))),
      client_(backend_->open_client()) {
  open(stock);
}

Shop::Shop(const std::filesystem::path& dir, const std::string& redis_url, std::int64_t stock,
           SaleKeys keys)
    : keys_(std::move(keys)),
      orders_(value_of(SqliteOrderStore::open(dir / "orders.db"))),
      backend_(value_of(RedisBackend::open(value_of(RedisOptions::from_url(redis_url))))),
      client_(backend_->open_client()) {
  open(stock);
}

void Shop::open(std::int64_t stock) {
  sale_ =
      value_of(when_available([&] { return Sale::open(*backend_, *orders_, {.keys = keys_}); }));
  user_ = value_of(orders_->state()).epoch << 32;
  constexpr std::int64_t kForEverMs = 4'000'000'000'000;
  const Voucher voucher{
      .id = 1, .title = "voucher", .stock = stock, .end_ms = kForEverMs, .limits = {.per_user = 1}};
  check(when_available([&] { return sale_->publish(voucher); }));
  WorkerOptions options;
  options.retry_after_ms = 10;
  options.pause_ms_max = 100;
  worker_ = std::make_unique<OrderWorkerThread>(
      std::make_unique<OrderWorker>(*backend_, *orders_, keys_, options));
}

void Shop::sell(Accepted accepted) {
  constexpr std::int64_t kAtOnce = 32;
  auto deadline = Steady::now() + kPatience;
  while (true) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = 0; i < kAtOnce; ++i) {
      requests.push_back({.voucher = 1, .user = ++user_});
    }
    bool is_waiting = false;
    for (const BuyResult& result : sale_->buy_all(requests)) {
      if (result.outcome == Outcome::kSoldOut) return;
      if (result.outcome == Outcome::kAccepted) {
        accepted(result.order);
      } else if (is_worth_waiting(result.outcome)) {
        is_waiting = true;
      } else {
        throw std::runtime_error(std::string(outcome_name(result.outcome)) + ' ' + result.detail);
      }
    }
    if (!is_waiting) deadline = Steady::now() + kPatience;
    if (Steady::now() > deadline) throw std::runtime_error("the keyspace does not come back");
    if (is_waiting) std::this_thread::yield();
  }
}

void Shop::drain() {
  const auto deadline = Steady::now() + kPatience;
  while (Steady::now() < deadline) {
    const auto progress = read_stream_progress(*client_, keys_);
    if (progress.ok() && progress->acknowledged_to >= progress->last) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("orders stay in the stream: " + worker_->pause_reason());
}

std::string Shop::audit() {
  worker_->stop();
  const AuditReport report = value_of(sale_->audit());
  std::string problems;
  for (const std::string& problem : report.problems) problems += problem + '\n';
  return problems;
}

}  // namespace rushgate::losses
