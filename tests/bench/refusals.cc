// Measures refused requests, the bulk of a real rush.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/redis_peer.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

/// A voucher that refuses as the workload requires.
class RefusingShop {
 public:
  explicit RefusingShop(Workload workload)
      : shop_(Durability::kOs, workload == Workload::kSoldOut ? 1 : kUnlimited),
        outcome_(workload == Workload::kSoldOut ? Outcome::kSoldOut : Outcome::kLimitReached),
        only_user_(workload == Workload::kAlreadyBought) {
    expect(Outcome::kAccepted, shop_.sale().buy(kVoucher, user(0)));
  }

  double rate_one_by_one(std::int64_t count) {
    const Stopwatch watch;
    for (std::int64_t i = 1; i <= count; ++i) {
      expect(outcome_, shop_.sale().buy(kVoucher, user(i)));
    }
    return static_cast<double>(count) / watch.seconds();
  }

  double rate_in_batches(std::int64_t count) {
    std::vector<BuyRequest> requests(kBatch);
    const Stopwatch watch;
    for (std::int64_t done = 0; done < count; done += kBatch) {
      for (int i = 0; i < kBatch; ++i) {
        requests[static_cast<std::size_t>(i)] = {.voucher = kVoucher, .user = user(done + i + 1)};
      }
      for (const BuyResult& result : shop_.sale().buy_all(requests)) expect(outcome_, result);
    }
    return static_cast<double>(count) / watch.seconds();
  }

  double rate_of_threads(std::int64_t count) {
    const Stopwatch watch;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, count] { rate_one_by_one(count / kThreads); });
    }
    for (std::thread& thread : threads) thread.join();
    return static_cast<double>(count) / watch.seconds();
  }

 private:
  [[nodiscard]] std::int64_t user(std::int64_t number) const {
    return only_user_ ? 7 : user_id(number);
  }

  Shop shop_;
  const Outcome outcome_;
  const bool only_user_;
};

void compare_refusals(Workload workload, const std::string& what, const Effort& effort,
                      Report& report) {
  RefusingShop shop(workload);
  RedisPeer redis(PeerDurability::kEverySec);
  redis.prepare(workload);
  redis.try_loads(workload, effort.trial_requests());
  const std::string peer_is = "redis-server, appendfsync everysec, " + redis.load();
  Comparison one{.line = what + ", one caller",
                 .unit = "refusals/s",
                 .ours_is = "one at a time",
                 .peer_is = peer_is,
                 .target = 10};
  Comparison batches{.line = what + ", batches",
                     .unit = "refusals/s",
                     .ours_is = "batches of " + std::to_string(kBatch),
                     .peer_is = peer_is,
                     .target = 10};
  Comparison threads{.line = what + ", 8 threads",
                     .unit = "refusals/s",
                     .ours_is = "eight blocked threads",
                     .peer_is = peer_is,
                     .target = 2};
  for (int round = 0; round < effort.rounds; ++round) {
    const double peer = redis.rate(workload, effort.requests / 2);
    one.ours.add(shop.rate_one_by_one(effort.requests * 2));
    batches.ours.add(shop.rate_in_batches(effort.requests * 2));
    threads.ours.add(shop.rate_of_threads(effort.requests));
    for (Comparison* comparison : {&one, &batches, &threads}) comparison->peer.add(peer);
  }
  for (Comparison* comparison : {&one, &batches, &threads}) report.add(std::move(*comparison));
}

}  // namespace

void measure_refusals(const Effort& effort, Report& report) {
  compare_refusals(Workload::kSoldOut, "sold out", effort, report);
  compare_refusals(Workload::kAlreadyBought, "already bought", effort, report);
}

}  // namespace rushgate::bench
