#include "tests/bench/shop.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include <rushgate/memory_store.h>

namespace rushgate::bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

void expect(Outcome outcome, const BuyResult& result) {
  if (result.outcome == outcome) return;
  fail("a purchase was " + std::string(outcome_name(result.outcome)) + " instead of " +
       std::string(outcome_name(outcome)) + ": " + result.detail);
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rushgate-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail("no temporary directory");
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() { std::filesystem::remove_all(path_); }

std::unique_ptr<Store> open_store(Durability durability, const std::filesystem::path& dir) {
  if (durability == Durability::kMemory) return std::make_unique<MemoryStore>();
  auto store = RocksDbStore::open(dir, {.durability = durability});
  if (!store.ok()) fail(store.status().ToString());
  return *std::move(store);
}

Shop::Shop(Durability durability, std::int64_t stock, EngineOptions options)
    : dir_(scratch_.emplace().path()) {
  open(durability, stock, std::move(options));
}

Shop::Shop(
    Durability durability,
    const std::function<std::unique_ptr<OrderStore>(const std::filesystem::path& dir)>& open_orders)
    : dir_(scratch_.emplace().path()), orders_(open_orders(dir_)) {
  open(durability, kUnlimited, {});
}

Shop::Shop(Durability durability, std::filesystem::path dir) : dir_(std::move(dir)) {
  open(durability, kUnlimited, {});
}

void Shop::open(Durability durability, std::int64_t stock, EngineOptions options) {
  auto store = open_store(durability, dir_ / "keyspace");
  disk_ = dynamic_cast<const RocksDbStore*>(store.get());
  auto engine = Engine::open(std::move(store), std::move(options));
  if (!engine.ok()) fail(engine.status().ToString());
  engine_ = *std::move(engine);
  client_ = engine_->open_client();
  auto sale = Sale::open(*engine_, *orders_);
  if (!sale.ok()) fail(sale.status().ToString());
  sale_ = *std::move(sale);
  constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
  const absl::Status published = sale_->publish(
      {.id = kVoucher, .title = "bench", .stock = stock, .begin_ms = 0, .end_ms = kFarOffMs});
  if (!published.ok()) fail(published.ToString());
}

std::int64_t Shop::take_users(std::int64_t count) {
  return std::exchange(next_user_, next_user_ + count);
}

double Shop::rate_in_batches(std::int64_t count, int batch) {
  const std::int64_t first = take_users(count);
  std::vector<BuyRequest> requests(static_cast<std::size_t>(batch));
  const Stopwatch watch;
  for (std::int64_t done = 0; done < count; done += batch) {
    for (int i = 0; i < batch; ++i) {
      requests[static_cast<std::size_t>(i)] = {.voucher = kVoucher,
                                               .user = user_id(first + done + i)};
    }
    for (const BuyResult& result : sale_->buy_all(requests)) expect(Outcome::kAccepted, result);
  }
  return static_cast<double>(count) / watch.seconds();
}

double Shop::rate_one_by_one(std::int64_t count) {
  const std::int64_t first = take_users(count);
  const Stopwatch watch;
  for (std::int64_t i = 0; i < count; ++i) {
    expect(Outcome::kAccepted, sale_->buy(kVoucher, user_id(first + i)));
  }
  return static_cast<double>(count) / watch.seconds();
}

}  // namespace rushgate::bench
