// Measures one caller with one request at a time, compared with a round trip to Redis.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/hiredis_connection.h"
#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kOurCallsMax = 200'000;
constexpr std::int64_t kPeerCallShare = 10;  // the peer gets a tenth of our calls

template <class Call>
Samples durations_us(std::int64_t count, Call call) {
  std::vector<double> durations;
  durations.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    call(i);
    durations.push_back(watch.seconds() * kMicroseconds);
  }
  return Samples::of(std::move(durations));
}

void compare_latency(Workload workload, const std::string& what, double target,
                     const Effort& effort, Report& report) {
  const bool accepted = workload == Workload::kAccepted;
  Shop shop(Durability::kOs, accepted ? kUnlimited : 1);
  if (!accepted) expect(Outcome::kAccepted, shop.sale().buy(kVoucher, user_id(0)));
  RedisPeer redis(PeerDurability::kEverySec);
  redis.prepare(workload);
  HiredisConnection hiredis(redis.server().socket_path());
  std::vector<Comparison> comparisons;
  for (const Quantile& quantile : kQuantiles) {
    comparisons.push_back({.line = what + ", one at a time: " + quantile.name,
                           .unit = "µs",
                           .better = Better::kLess,
                           .ours_is = "Sale::buy(), durability os",
                           .peer_is = "EVALSHA by hiredis, one connection, everysec"});
  }
  comparisons.front().target = target;  // of the median
  const std::int64_t our_calls = std::min(kOurCallsMax, effort.requests);
  std::int64_t peer_user = 1;
  for (int round = 0; round < effort.rounds; ++round) {
    const std::int64_t first = shop.take_users(our_calls);
    const Samples ours = durations_us(our_calls, [&](std::int64_t i) {
      expect(accepted ? Outcome::kAccepted : Outcome::kSoldOut,
             shop.sale().buy(kVoucher, user_id(first + i)));
    });
    const Samples peer = durations_us(our_calls / kPeerCallShare, [&](std::int64_t) {
      const std::int64_t user = user_id(peer_user++);
      hiredis.append(Request::of("EVALSHA", redis.script_sha(), 3, kStockKey, kBuyersKey,
                                 kOrderStream, 1, user, user));
      if (hiredis.next_integer() != (accepted ? 0 : 1)) fail("the peer decided otherwise");
    });
    for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
      comparisons[i].ours.add(ours.quantile(kQuantiles[i].share));
      comparisons[i].peer.add(peer.quantile(kQuantiles[i].share));
    }
  }
  for (Comparison& comparison : comparisons) report.add(std::move(comparison));
}

}  // namespace

void measure_latency(const Effort& effort, Report& report) {
  compare_latency(Workload::kAccepted, "accepted", 7, effort, report);
  compare_latency(Workload::kSoldOut, "sold out", 40, effort, report);
}

}  // namespace rushgate::bench
