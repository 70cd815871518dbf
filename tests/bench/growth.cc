// Compares sales of many and of few buyers, and measures the waits of single requests.
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kFewBuyers = 10'000;
constexpr int kFewSales = 10;  // per round, because one sale is too short to be timed well

std::string work_of(const Shop& shop) {
  const RocksDbWork work = shop.disk().work();
  return fmt::format("RocksDB: {} flushes, {} compactions, {} stalls", work.flushes,
                     work.compactions, work.stalls);
}

double rate_of_few(std::int64_t buyers) {
  double seconds = 0;
  for (int i = 0; i < kFewSales; ++i) {
    Shop shop(Durability::kOs);
    seconds += static_cast<double>(buyers) / shop.rate_in_batches(buyers, kBatch);
  }
  return static_cast<double>(buyers * kFewSales) / seconds;
}

void compare_rates(const Effort& effort, Report& report) {
  const std::int64_t few = std::min(kFewBuyers, effort.buyers);
  Comparison comparison{
      .line = "a large sale compared with small ones",
      .unit = "admissions/s",
      .ours_is = fmt::format("{} buyers, durability os, batches of {}",
                             short_number(static_cast<double>(effort.buyers)), kBatch),
      .peer_is = fmt::format("ours too, {} buyers", short_number(static_cast<double>(few))),
      .target = 0.7};
  for (int round = 0; round < effort.rounds; ++round) {
    comparison.peer.add(rate_of_few(few));
    Shop shop(Durability::kOs);
    comparison.ours.add(shop.rate_in_batches(effort.buyers, kBatch));
    comparison.note = work_of(shop);
  }
  report.add(std::move(comparison));
}

struct PacedCalls {
  std::vector<double> waits_ms;       // from the due time of each call to its reply
  double longest_ms = 0;              // of one call
  double longest_undisturbed_ms = 0;  // of a call without a context switch
};

/// Returns the number of involuntary context switches of this thread.
long interruptions() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

/// Buys with `rate` single requests per second.
PacedCalls buy_paced(Shop& shop, std::int64_t count, double rate) {
  constexpr double kMs = 1'000;
  PacedCalls calls;
  calls.waits_ms.resize(static_cast<std::size_t>(count));  // no page faults while timing
  const std::int64_t first = shop.take_users(count);
  const Stopwatch watch;
  for (std::int64_t i = 0; i < count; ++i) {
    const double due = static_cast<double>(i) / rate;
    while (watch.seconds() < due) continue;
    const long interrupted = interruptions();
    const double begun = watch.seconds();
    expect(Outcome::kAccepted, shop.sale().buy(kVoucher, user_id(first + i)));
    const double answered = watch.seconds();
    const double call_ms = (answered - begun) * kMs;
    calls.waits_ms[static_cast<std::size_t>(i)] = (answered - due) * kMs;
    calls.longest_ms = std::max(calls.longest_ms, call_ms);
    if (call_ms > calls.longest_undisturbed_ms && interruptions() == interrupted) {
      calls.longest_undisturbed_ms = call_ms;
    }
  }
  return calls;
}

void measure_waits(const Effort& effort, Report& report) {
  constexpr std::int64_t kCallsToFindRate = 200'000;
  constexpr double kTail = 0.999;
  const double rate =
      Shop(Durability::kOs).rate_one_by_one(std::min(kCallsToFindRate, effort.buyers)) / 2;
  Shop shop(Durability::kOs);
  PacedCalls calls = buy_paced(shop, effort.buyers, rate);
  const Samples waits = Samples::of(std::move(calls.waits_ms));
  const std::string how = fmt::format(
      "{} buyers one at a time, {} a second, half of what is "
      "possible, durability os",
      short_number(static_cast<double>(effort.buyers)), short_number(rate));
  report.add(Figure{.line = "a large sale at half its rate, p99.9 of a request",
                    .unit = "ms",
                    .value = waits.quantile(kTail),
                    .note = fmt::format("from when it was due; median {}; {}",
                                        with_unit(waits.median(), "ms"), how)});
  report.add(Figure{.line = "a large sale at half its rate, longest request",
                    .unit = "ms",
                    .value = calls.longest_undisturbed_ms,
                    .target = 10,
                    .note = fmt::format("of those during which the system let the thread run; "
                                        "of all: {} ms; {}",
                                        short_number(calls.longest_ms), work_of(shop))});
}

}  // namespace

void measure_growth(const Effort& effort, Report& report) {
  compare_rates(effort, report);
  measure_waits(effort, report);
}

}  // namespace rushgate::bench
