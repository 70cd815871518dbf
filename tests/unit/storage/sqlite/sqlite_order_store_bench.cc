// Measures orders per second, on the disk of the temporary directory.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/unit/storage/sqlite/temporary_database.h"
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

// Returns orders of random users, so that each needs another page of the index.
std::vector<Order> next_batch(std::mt19937_64& random, OrderId& id, std::int64_t count,
                              std::int64_t limit) {
  std::vector<Order> orders;
  for (std::int64_t i = 0; i < count; ++i) {
    id += 1 + static_cast<OrderId>(random() % 3);
    orders.push_back({.id = id,
                      .user = static_cast<std::int64_t>(random() % 1'000'000'000),
                      .voucher = 7,
                      .limit = limit,
                      .admitted_at_ms = 1'700'000'000'000 + id / 1000,
                      .entry = {1'700'000'000'000, static_cast<std::uint64_t>(id)}});
  }
  return orders;
}

// Arguments: orders per batch, limit.
void BM_Write(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<Order> batch = next_batch(random, id, state.range(0), state.range(1));
    state.ResumeTiming();
    if (!write_now(*store, batch).ok()) state.SkipWithError("write failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
// The number of orders in a sale of 0.5 million, and twice that for the larger batches.
BENCHMARK(BM_Write)->Args({1, 1})->Iterations(20'000)->UseRealTime();
BENCHMARK(BM_Write)->Args({100, 1})->Iterations(5'000)->UseRealTime();
BENCHMARK(BM_Write)->Args({1'000, 1})->Iterations(500)->UseRealTime();
BENCHMARK(BM_Write)->Args({1'000, 1})->Iterations(1'000)->UseRealTime();
BENCHMARK(BM_Write)->Args({1'000, 3})->Iterations(500)->UseRealTime();

// Argument: orders per batch. As BM_Write, each order with an idempotency key.
void BM_WriteWithKeys(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Order> batch = next_batch(random, id, state.range(0), 1);
    for (Order& order : batch) {
      order.idempotency_key = std::to_string(random()) + std::to_string(random());
      order.key_expires_at_ms = order.admitted_at_ms + 604'800'000;
    }
    state.ResumeTiming();
    if (!write_now(*store, batch).ok()) state.SkipWithError("write failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_WriteWithKeys)->Arg(1'000)->Iterations(500)->UseRealTime();

// Argument: orders per batch. As BM_Write, in events.
void BM_ApplyAdmitted(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<OrderEvent> events;
    for (Order& order : next_batch(random, id, state.range(0), 1)) {
      events.push_back({.order = std::move(order)});
    }
    state.ResumeTiming();
    if (!apply_now(*store, events).ok()) state.SkipWithError("apply failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ApplyAdmitted)->Arg(1'000)->Iterations(500)->UseRealTime();

// Argument: orders per batch. Pays each of half a million unpaid orders.
void BM_Pay(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Order> batch = next_batch(random, id, state.range(0), 1);
    std::vector<OrderEvent> events;
    for (Order& order : batch) {
      order.status = OrderStatus::kUnpaid;
      events.push_back({.kind = OrderEvent::Kind::kPaid, .order = {.id = order.id}});
      events.back().payment.id = std::to_string(random());
    }
    if (!write_now(*store, batch).ok()) state.SkipWithError("write failed");
    state.ResumeTiming();
    if (!apply_now(*store, events).ok()) state.SkipWithError("apply failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Pay)->Arg(1'000)->Iterations(500)->UseRealTime();

// Stores the same batch repeatedly.
void BM_Redeliver(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  const std::vector<Order> batch = next_batch(random, id, state.range(0), 1);
  for (auto _ : state) {
    if (!write_now(*store, batch).ok()) state.SkipWithError("write failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Redeliver)->Arg(1'000)->UseRealTime();

// Measures the query of a client that polls for its order.
void BM_Find(benchmark::State& state) {
  const TemporaryDatabase database(TemporaryDirectory::Where::kOnDisk);
  const auto store = SqliteOrderStore::open(database.file()).value();
  std::mt19937_64 random(1);
  OrderId id = 1'000'000'000'000;
  const std::vector<Order> batch = next_batch(random, id, 100'000, 1);
  if (!write_now(*store, batch).ok()) state.SkipWithError("write failed");
  for (auto _ : state) {
    benchmark::DoNotOptimize(store->find(batch[random() % batch.size()].id));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Find)->UseRealTime();

}  // namespace
}  // namespace rushgate
