// Compares many concurrent callers, fibers and threads, with a single one.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/fiber/fiber.hpp>

#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include <rushgate/fiber_wait.h>

namespace rushgate::bench {
namespace {

/// Callers that buy at the same time, one request at a time each.
class Callers {
 public:
  Callers() : shop_(Durability::kOs) {
    auto sale = Sale::open(shop_.engine(), shop_.orders(), {.client = {.wait = &fiber_wait()}});
    if (!sale.ok()) fail(sale.status().ToString());
    fiber_sale_ = *std::move(sale);
  }

  /// Returns accepted requests per second of `fibers` on one thread and `threads` other threads.
  /// They make `count` requests; if there are both, the fibers make half of them. Adds the duration
  /// of each request to `durations_us`.
  double rate(int fibers, int threads, std::int64_t count, std::vector<double>& durations_us) {
    const std::int64_t half = fibers > 0 && threads > 0 ? count / 2 : count;
    const std::int64_t first = shop_.take_users(count);
    std::vector<std::vector<double>> durations(static_cast<std::size_t>(fibers + threads));
    const auto buy = [&](Sale& sale, int caller, std::int64_t first_user, std::int64_t share) {
      auto& its_durations = durations[static_cast<std::size_t>(caller)];
      its_durations.reserve(static_cast<std::size_t>(share));
      for (std::int64_t i = 0; i < share; ++i) {
        const Stopwatch watch;
        expect(Outcome::kAccepted, sale.buy(kVoucher, user_id(first_user + i)));
        its_durations.push_back(watch.seconds() * kMicroseconds);
      }
    };
    const std::int64_t of_fiber = fibers > 0 ? half / fibers : 0;
    const std::int64_t of_thread = threads > 0 ? half / threads : 0;
    const Stopwatch watch;
    std::vector<std::thread> running;
    if (fibers > 0) {
      running.emplace_back([&] {
        std::vector<boost::fibers::fiber> waiting;
        for (int i = 0; i < fibers; ++i) {
          waiting.emplace_back([&, i] { buy(*fiber_sale_, i, first + i * of_fiber, of_fiber); });
        }
        for (boost::fibers::fiber& fiber : waiting) fiber.join();
      });
    }
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        buy(shop_.sale(), fibers + i, first + fibers * of_fiber + i * of_thread, of_thread);
      });
    }
    for (std::thread& thread : running) thread.join();
    const double seconds = watch.seconds();
    for (const auto& of_one : durations) {
      durations_us.insert(durations_us.end(), of_one.begin(), of_one.end());
    }
    return static_cast<double>(fibers * of_fiber + threads * of_thread) / seconds;
  }

 private:
  Shop shop_;
  std::unique_ptr<Sale> fiber_sale_;
};

struct Crowd {
  std::string name;
  int fibers;
  int threads;
  Samples rates = {};
  std::vector<double> durations_us = {};
};

}  // namespace

void measure_fibers(const Effort& effort, Report& report) {
  Callers callers;
  Crowd one{.name = "one caller", .fibers = 0, .threads = 1};
  Crowd crowds[] = {{"1,000 fibers on one thread", kFibers, 0},
                    {"8 threads", 0, kThreads},
                    {"1,000 fibers on one thread and 8 threads", kFibers, kThreads}};
  const std::int64_t count = std::max<std::int64_t>(effort.requests / 5, kFibers + kThreads);
  for (int round = 0; round < effort.rounds; ++round) {
    one.rates.add(callers.rate(one.fibers, one.threads, count, one.durations_us));
    for (Crowd& crowd : crowds) {
      crowd.rates.add(callers.rate(crowd.fibers, crowd.threads, count, crowd.durations_us));
    }
  }
  for (Crowd& crowd : crowds) {
    report.add(Comparison{.line = "accepted, " + crowd.name,
                          .unit = "admissions/s",
                          .ours_is = crowd.name + ", durability os",
                          .peer_is = "one caller, one at a time",
                          .ours = crowd.rates,
                          .peer = one.rates,
                          .target = 1});
  }
  const auto report_durations = [&](Crowd& crowd) {
    const Samples durations = Samples::of(std::move(crowd.durations_us));
    for (const Quantile& quantile : kQuantiles) {
      report.add(Figure{.line = "a request of " + crowd.name + ": " + quantile.name,
                        .unit = "µs",
                        .value = durations.quantile(quantile.share)});
    }
  };
  report_durations(one);
  for (Crowd& crowd : crowds) report_durations(crowd);
}

}  // namespace rushgate::bench
