// Measures accepted requests: by native scripts in batches, and by the same Lua script.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/stubbed_lua.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kBatchesMax = 10'000;  // per round
constexpr std::int64_t kPeerShare = 4;        // the peer gets a quarter of our requests

struct Pair {
  const char* durability;  // as in the line of the report
  Durability ours;
  PeerDurability peer;
  const char* peer_is;
  double target;
};

constexpr Pair kPairs[] = {
    {"durability os", Durability::kOs, PeerDurability::kEverySec,
     "redis-server, appendfsync everysec", 7},
    {"durability sync", Durability::kSync, PeerDurability::kAlways,
     "redis-server, appendfsync always", 4},
    {"in memory", Durability::kMemory, PeerDurability::kNone, "redis-server, no append-only file",
     15},
};

void compare_native(const Pair& pair, const Effort& effort, Report& report) {
  Shop shop(pair.ours);
  RedisPeer redis(pair.peer);
  redis.prepare(Workload::kAccepted);
  redis.try_loads(Workload::kAccepted, effort.trial_requests());
  Comparison comparison{.line = std::string("accepted, ") + pair.durability,
                        .unit = "admissions/s",
                        .ours_is = "native script, batches of " + std::to_string(kBatch),
                        .peer_is = std::string(pair.peer_is) + ", " + redis.load(),
                        .target = pair.target};
  for (int round = 0; round < effort.rounds; ++round) {
    comparison.ours.add(shop.rate_in_batches(effort.requests, kBatch));
    comparison.peer.add(redis.rate(Workload::kAccepted, effort.requests / kPeerShare));
  }
  comparison.note = redis.rewrites();
  report.add(std::move(comparison));
}

/// Returns the number of requests in a round, a multiple of `batch`. Small batches with an fsync
/// each would otherwise take minutes.
std::int64_t requests_of(int batch, const Effort& effort) {
  return std::clamp<std::int64_t>(effort.requests / batch, 1, kBatchesMax) * batch;
}

/// Compares all sizes of batches but the one of compare_native().
void compare_batches(const Pair& pair, const Effort& effort, Report& report) {
  Shop shop(pair.ours);
  RedisPeer redis(pair.peer);
  redis.prepare(Workload::kAccepted);
  redis.try_loads(Workload::kAccepted, effort.trial_requests());
  Samples peer;
  std::vector<Comparison> comparisons;
  for (const int batch : kBatchSizes) {
    if (batch == kBatch) continue;
    comparisons.push_back({.line = batch_line(batch, pair.durability),
                           .unit = "admissions/s",
                           .ours_is = "native script, batches of " + std::to_string(batch),
                           .peer_is = std::string(pair.peer_is) + ", " + redis.load()});
  }
  for (int round = 0; round < effort.rounds; ++round) {
    std::size_t next = 0;
    for (const int batch : kBatchSizes) {
      if (batch == kBatch) continue;
      comparisons[next++].ours.add(shop.rate_in_batches(requests_of(batch, effort), batch));
    }
    peer.add(redis.rate(Workload::kAccepted, effort.requests / kPeerShare));
  }
  for (Comparison& comparison : comparisons) {
    comparison.peer = peer;
    comparison.note = redis.rewrites();
    report.add(std::move(comparison));
  }
}

/// Measures EVALSHA of the seckill script on the engine, in pipelines.
double lua_rate(Client& client, std::int64_t first, std::int64_t count) {
  const std::string keys[] = {kStockKey, kBuyersKey, kOrderStream};
  const Stopwatch watch;
  for (std::int64_t done = 0; done < count; done += kBatch) {
    std::vector<Request> requests;
    requests.reserve(kBatch);
    for (int i = 0; i < kBatch; ++i) {
      const std::int64_t user = user_id(first + done + i);
      requests.push_back(Request::of("EVALSHA", seckill_script().sha1(), 3, keys[0], keys[1],
                                     keys[2], 1, user, user));
    }
    for (const Reply& reply : client.pipeline(requests)) {
      if (reply != Reply::integer(0)) fail("the script returned " + to_debug_string(reply));
    }
  }
  return static_cast<double>(count) / watch.seconds();
}

}  // namespace

void measure_admissions(const Effort& effort, Report& report) {
  for (const Pair& pair : kPairs) compare_native(pair, effort, report);
}

void measure_batches(const Effort& effort, Report& report) {
  for (const Pair& pair : kPairs) compare_batches(pair, effort, report);
}

void measure_lua(const Effort& effort, Report& report) {
  Shop shop(Durability::kOs);
  RedisPeer redis(PeerDurability::kEverySec);
  StubbedLua stubbed;
  redis.prepare(Workload::kAccepted);
  redis.try_loads(Workload::kAccepted, effort.trial_requests());
  shop.client()("SET", kStockKey, kUnlimited);
  shop.client()("SCRIPT", "LOAD", seckill_script().text());
  Comparison against_redis{.line = "accepted by the same Lua script, durability os",
                           .unit = "admissions/s",
                           .ours_is = "EVALSHA, pipelines of " + std::to_string(kBatch),
                           .peer_is = "redis-server, appendfsync everysec, " + redis.load(),
                           .target = 2.5};
  Comparison against_stubs{.line = "the same script over stubbed commands",
                           .unit = "runs/s",
                           .ours_is = against_redis.ours_is,
                           .peer_is = "plain Lua 5.1, commands that return constants",
                           .target = 0.6};
  for (int round = 0; round < effort.rounds; ++round) {
    const std::int64_t count = effort.requests / 2;
    const std::int64_t first = shop.take_users(count);
    against_redis.ours.add(lua_rate(shop.client(), first, count));
    against_redis.peer.add(redis.rate(Workload::kAccepted, effort.requests / kPeerShare));
    against_stubs.peer.add(stubbed.rate(first, count));
  }
  against_stubs.ours = against_redis.ours;
  against_redis.note = redis.rewrites();
  report.add(std::move(against_redis));
  report.add(std::move(against_stubs));
}

}  // namespace rushgate::bench
