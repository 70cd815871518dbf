// Recipes on the embedded engine, and locks on a redis-server too: docs/performance.md has the
// figures.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "adapters/redis/redis_backend.h"
#include "engine/executor/engine.h"
#include "engine/recipes/ids/id_generator.h"
#include "engine/recipes/ids/id_scrambler.h"
#include "engine/recipes/locks/reentrant_lock.h"
#include "storage/memory/memory_store.h"
#include "tests/redis_server/redis_server.h"

namespace rushgate {
namespace {

Engine& engine() {
  static const std::unique_ptr<Engine> opened = *Engine::open(std::make_unique<MemoryStore>());
  return *opened;
}

/// For a new counter, so that a day's worth is never used up.
std::unique_ptr<IdGenerator> new_generator() {
  static int number = 0;
  IdOptions options = IdOptions::of("bench" + std::to_string(++number));
  options.layout.counter_bits = 40;
  options.layout.epoch_seconds = engine().clock().now_ms() / 1'000 - 1;
  return *IdGenerator::open(engine(), options);
}

std::unique_ptr<IdGenerator> shared_ids;

void next_id(benchmark::State& state) {
  if (state.thread_index() == 0) shared_ids = new_generator();
  for (auto _ : state) {
    const auto id = shared_ids->next_id();
    if (!id.ok()) state.SkipWithError(id.status().ToString().c_str());
    benchmark::DoNotOptimize(id);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(next_id)->UseRealTime();
BENCHMARK(next_id)->Threads(2)->UseRealTime();

void next_ids(benchmark::State& state) {
  const auto ids = new_generator();
  std::vector<std::int64_t> many(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::size_t count = 0;
    const absl::Status given = ids->next_ids(many, count);
    if (!given.ok()) state.SkipWithError(given.ToString().c_str());
    benchmark::DoNotOptimize(many.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(next_ids)->Arg(256)->UseRealTime();

void scramble(benchmark::State& state) {
  const auto scrambler = *IdScrambler::create("sixteen bytes ok");
  std::int64_t id = 1;
  for (auto _ : state) benchmark::DoNotOptimize(id = scrambler.scramble(id));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(scramble);

// ---- Locks ----

Backend& redis() {
  static const rushgate::testing::RedisServer server;
  static const std::unique_ptr<Backend> opened =
      *RedisBackend::open(*RedisOptions::from_url(server.url()));
  return *opened;
}

/// One manager a backend, as in one process.
void lock_and_unlock(benchmark::State& state, LockManager& manager) {
  ReentrantLock lock(manager, "bench");
  for (auto _ : state) {
    if (absl::Status locked = lock.acquire(); !locked.ok()) {
      state.SkipWithError(locked.ToString().c_str());
    }
    if (absl::Status unlocked = lock.release(); !unlocked.ok()) {
      state.SkipWithError(unlocked.ToString().c_str());
    }
  }
  state.SetItemsProcessed(state.iterations());
}

void lock_embedded(benchmark::State& state) {
  static LockManager manager(engine());
  lock_and_unlock(state, manager);
}
void lock_redis(benchmark::State& state) {
  static LockManager manager(redis());
  lock_and_unlock(state, manager);
}
BENCHMARK(lock_embedded)->UseRealTime();
BENCHMARK(lock_redis)->UseRealTime();
BENCHMARK(lock_embedded)->Threads(8)->UseRealTime();
BENCHMARK(lock_redis)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace rushgate
