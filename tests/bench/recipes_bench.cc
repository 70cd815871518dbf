// Measures recipes on the embedded engine, and locks also on a redis-server. docs/performance.md
// has the figures.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/cache.h>
#include <rushgate/engine.h>
#include <rushgate/ids.h>
#include <rushgate/limits.h>
#include <rushgate/locks.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

Engine& engine() {
  static const std::unique_ptr<Engine> kOpened = *Engine::open(std::make_unique<MemoryStore>());
  return *kOpened;
}

/// Uses a new counter each time, so that the ids of a day are never exhausted.
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
    auto id = shared_ids->next_id();
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
  static const rushgate::testing::RedisServer kServer;
  static const std::unique_ptr<Backend> kOpened =
      *RedisBackend::open(*RedisOptions::from_url(kServer.url()));
  return *kOpened;
}

/// Uses one manager per backend, as a single process does.
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

// ---- Caches ----

/// Measures hits on a thousand keys with values of 200 bytes.
void get_or_load(benchmark::State& state, Cache& cache) {
  constexpr std::size_t kKeys = 1'000;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) keys.push_back("shop:" + std::to_string(i));
  const auto load = [] { return absl::StatusOr<Cache::Value>(std::string(200, 'v')); };
  std::size_t next = 0;
  for (auto _ : state) {
    auto value = cache.get_or_load(keys[next], load);
    if (!value.ok()) state.SkipWithError(value.status().ToString().c_str());
    benchmark::DoNotOptimize(value);
    if (++next == kKeys) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

void get_from_first_level(benchmark::State& state) {
  static const auto kCache =
      *Cache::create(engine(), {.key_prefix = "copied:", .first_level = {.entries_max = 10'000}});
  get_or_load(state, *kCache);
}
void get_embedded(benchmark::State& state) {
  static const auto kCache = *Cache::create(engine());
  get_or_load(state, *kCache);
}
void get_redis(benchmark::State& state) {
  static const auto kCache = *Cache::create(redis());
  get_or_load(state, *kCache);
}
BENCHMARK(get_from_first_level)->UseRealTime();
BENCHMARK(get_from_first_level)->Threads(2)->UseRealTime();
BENCHMARK(get_embedded)->UseRealTime();
BENCHMARK(get_redis)->UseRealTime();

// ---- Limiters ----

/// Measures a limit per user for a thousand users.
template <class Limiter>
void take(benchmark::State& state, Limiter& limiter) {
  constexpr std::size_t kUsers = 1'000;
  std::vector<std::string> users;
  for (std::size_t i = 0; i < kUsers; ++i) users.push_back("user:" + std::to_string(i));
  std::size_t next = 0;
  for (auto _ : state) {
    auto permission = limiter.take(users[next]);
    if (!permission.ok()) state.SkipWithError(permission.status().ToString().c_str());
    benchmark::DoNotOptimize(permission);
    if (++next == kUsers) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

/// Grants all requests and is never full.
TokenBucketOptions granting() { return {.capacity = 1'000'000, .refill_ms = 1'000'000'000}; }
/// Refuses nearly all requests.
TokenBucketOptions refusing() { return {.key_prefix = "few:", .refill_ms = 10'000}; }
SlidingWindowOptions window_of(SlidingWindowOptions::Kind kind) {
  return {.key_prefix = kind == SlidingWindowOptions::Kind::kExact ? "exact:" : "approximate:",
          .kind = kind,
          .maximum = 100,
          .window_ms = 1'000};
}

void bucket_grants(benchmark::State& state) {
  static const auto kLimiter = *TokenBucket::create(engine(), granting());
  take(state, *kLimiter);
}
void bucket_refuses(benchmark::State& state) {
  static const auto kLimiter = *TokenBucket::create(engine(), refusing());
  take(state, *kLimiter);
}
void bucket_grants_in_batches(benchmark::State& state) {
  constexpr std::size_t kBatch = 64;
  static const auto kLimiter = *TokenBucket::create(engine(), granting());
  std::vector<std::string> users;
  for (std::size_t i = 0; i < kBatch; ++i) users.push_back("user:" + std::to_string(i));
  const std::vector<std::string_view> names(users.begin(), users.end());
  for (auto _ : state) {
    auto permissions = kLimiter->take_all(names);
    if (!permissions[0].ok()) state.SkipWithError(permissions[0].status().ToString().c_str());
    benchmark::DoNotOptimize(permissions);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
void bucket_redis(benchmark::State& state) {
  static const auto kLimiter = *TokenBucket::create(redis(), granting());
  take(state, *kLimiter);
}
void window_exact(benchmark::State& state) {
  static const auto kLimiter =
      *SlidingWindow::create(engine(), window_of(SlidingWindowOptions::Kind::kExact));
  take(state, *kLimiter);
}
/// Lets each of a thousand users take any number.
void window_grants(benchmark::State& state) {
  static const auto kLimiter =
      *SlidingWindow::create(engine(), {.key_prefix = "many:",
                                        .kind = SlidingWindowOptions::Kind::kApproximate,
                                        .maximum = SlidingWindow::kMaximumMax,
                                        .window_ms = 60'000});
  take(state, *kLimiter);
}
/// Does the same with windows of about a hundred grants: each new grant displaces an old one.
void window_exact_grants(benchmark::State& state) {
  static const auto kLimiter =
      *SlidingWindow::create(engine(), {.key_prefix = "many-exact:",
                                        .kind = SlidingWindowOptions::Kind::kExact,
                                        .maximum = SlidingWindow::kExactMaximumMax,
                                        .window_ms = 100});
  take(state, *kLimiter);
}
void window_approximate(benchmark::State& state) {
  static const auto kLimiter =
      *SlidingWindow::create(engine(), window_of(SlidingWindowOptions::Kind::kApproximate));
  take(state, *kLimiter);
}
BENCHMARK(bucket_grants)->UseRealTime();
BENCHMARK(bucket_grants)->Threads(2)->UseRealTime();
BENCHMARK(bucket_refuses)->UseRealTime();
BENCHMARK(bucket_grants_in_batches)->UseRealTime();
BENCHMARK(bucket_redis)->UseRealTime();
BENCHMARK(window_exact)->UseRealTime();
BENCHMARK(window_exact_grants)->UseRealTime();
BENCHMARK(window_grants)->UseRealTime();
BENCHMARK(window_approximate)->UseRealTime();

}  // namespace
}  // namespace rushgate
