// Measures how long the removal of a large value holds the turn, with and without a thread that
// frees it.
#include <cstdint>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

enum class FreedBy : std::uint8_t { kTurn, kThread };

constexpr const char* kSet = "redis.call('SADD', KEYS[1], 'member:' .. i)";
constexpr const char* kHash = "redis.call('HSET', KEYS[1], 'field:' .. i, 'value:' .. i)";
constexpr const char* kSortedSet = "redis.call('ZADD', KEYS[1], i, 'member:' .. i)";
constexpr const char* kList = "redis.call('RPUSH', KEYS[1], 'element:' .. i)";

constexpr int kElements = 2'000'000;

/// Measures UNLINK of a value of two million elements.
void unlink(benchmark::State& state, const char* add, FreedBy by) {
  ManualClock clock;
  EngineOptions options;
  if (by == FreedBy::kTurn) options.manual_clock = &clock;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>(), options);
  const auto client = engine->open_client();
  for (auto _ : state) {
    state.PauseTiming();
    constexpr int kAtOnce = 100'000;
    for (int from = 1; from <= kElements; from += kAtOnce) {
      const std::string script =
          "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do " + std::string(add) + " end";
      (*client)("EVAL", script, 1, "k", from, from + kAtOnce - 1);
    }
    state.ResumeTiming();
    (*client)("UNLINK", "k");
  }
}

#define RUSHGATE_UNLINK(type, by)                           \
  BENCHMARK_CAPTURE(unlink, type##_##by, type, FreedBy::by) \
      ->Unit(benchmark::kMicrosecond)                       \
      ->Iterations(2)

RUSHGATE_UNLINK(kSet, kTurn);
RUSHGATE_UNLINK(kSet, kThread);
RUSHGATE_UNLINK(kHash, kTurn);
RUSHGATE_UNLINK(kHash, kThread);
RUSHGATE_UNLINK(kSortedSet, kTurn);
RUSHGATE_UNLINK(kSortedSet, kThread);
RUSHGATE_UNLINK(kList, kTurn);
RUSHGATE_UNLINK(kList, kThread);

}  // namespace
}  // namespace rushgate
