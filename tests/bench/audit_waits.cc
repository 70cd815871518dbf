// How long a purchase waits while an audit runs beside it, after many refunds:
//   audit_waits [refunds] [os|sync]                                        (1,000,000 refunds, os)
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/samples.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/order_worker.h>

namespace rushgate::bench {
namespace {

constexpr std::int64_t kBatch = 1'000;
constexpr double kMilliseconds = 1e3;

class AuditedShop {
 public:
  AuditedShop(std::int64_t refunds, Durability durability) : shop_(durability) {
    for (std::int64_t done = 0; done < refunds; done += kBatch) {
      shop_.rate_in_batches(kBatch, kBatch);
      store_orders();
    }
    const auto refunded = shop_.sale().refund_all(kVoucher, "broken");
    if (!refunded.ok()) fail(refunded.status().ToString());
    std::printf("%zu orders refunded\n", *refunded);
  }

  /// Shows how long the purchases of one thread take while `runs`.
  template <class Runs>
  void show_purchases(const char* beside, Runs runs) {
    std::atomic<bool> stop{false};
    std::vector<double> waits;
    std::thread buyer([&, user = shop_.take_users(kUsers)]() mutable {
      while (!stop) {
        const Stopwatch watch;
        expect(Outcome::kAccepted, shop_.sale().buy(kVoucher, user++));
        waits.push_back(watch.seconds() * kMilliseconds);
      }
    });
    const Stopwatch watch;
    runs();
    const double seconds = watch.seconds();
    stop = true;
    buyer.join();
    const auto count = static_cast<double>(waits.size());
    const Samples sorted = Samples::of(std::move(waits));
    std::printf(
        "beside %-8s %6.2f s, %7.0f purchases/s, wait: median %.3f, p99.9 %.3f, max %.2f ms\n",
        beside, seconds, count / seconds, sorted.median(), sorted.quantile(0.999), sorted.max());
    std::fflush(stdout);
    store_orders();
  }

  void audit() {
    const auto report = shop_.sale().audit();
    if (!report.ok()) fail(report.status().ToString());
    if (!report->problems.empty()) fail(report->problems.front());
  }

 private:
  void store_orders() {
    while (worker_.step().kind == OrderWorker::Step::Kind::kWorked) {
    }
  }

  static constexpr std::int64_t kUsers = 100'000'000;

  Shop shop_;
  OrderWorker worker_{shop_.engine(), shop_.orders(), shop_.sale().options().keys};
};

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  const std::int64_t refunds = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const bool syncs = argc > 2 && std::string_view(argv[2]) == "sync";
  rushgate::bench::AuditedShop shop(
      refunds, syncs ? rushgate::Durability::kSync : rushgate::Durability::kOs);
  const auto nothing = [] { std::this_thread::sleep_for(std::chrono::seconds(3)); };
  shop.show_purchases("nothing", nothing);
  for (int i = 0; i < 2; ++i) shop.show_purchases("an audit", [&] { shop.audit(); });
  shop.show_purchases("nothing", nothing);
  return 0;
}
