// Measures orders with a payment next to orders without one: admission, payment, timeout. Also how
// long a buyer waits while a million holds expire.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/holds/holds.h"
#include "tests/bench/samples.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include <rushgate/order_worker.h>

namespace rushgate::bench {
namespace {

constexpr std::size_t kBatch = 1'000;
constexpr std::int64_t kPrice = 100;
constexpr VoucherId kPaidVoucher = 2;

/// A shop that sells a voucher with a time to pay next to the usual one. A worker stores the orders
/// outside of the measured time.
class PaidShop {
 public:
  explicit PaidShop(std::int64_t payment_ms)
      : shop_(Durability::kOs), worker_(shop_.engine(), shop_.orders(), SaleKeys{}) {
    constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
    const absl::Status published = shop_.sale().publish({.id = kPaidVoucher,
                                                         .title = "bench",
                                                         .stock = kUnlimited,
                                                         .begin_ms = 0,
                                                         .end_ms = kFarOffMs,
                                                         .price_cents = kPrice,
                                                         .payment_ms = payment_ms});
    if (!published.ok()) fail(published.ToString());
  }

  Sale& sale() { return shop_.sale(); }
  Client& client() { return shop_.client(); }

  std::vector<BuyResult> buy(VoucherId voucher) {
    const std::int64_t first = shop_.take_users(kBatch);
    std::vector<BuyRequest> requests;
    for (std::size_t i = 0; i < kBatch; ++i) {
      requests.push_back(
          {.voucher = voucher, .user = user_id(first + static_cast<std::int64_t>(i))});
    }
    return sale().buy_all(requests);
  }

  BuyResult buy_one(VoucherId voucher) { return sale().buy(voucher, user_id(shop_.take_users(1))); }

  /// Ends holds that are due, and stores orders.
  OrderWorker::Step step() { return worker_.step(); }
  void store() {
    while (step().kind == OrderWorker::Step::Kind::kWorked) {
    }
  }

 private:
  Shop shop_;
  OrderWorker worker_;
};

void accepted(benchmark::State& state, VoucherId voucher) {
  PaidShop shop(kHourMs);
  for (auto _ : state) {
    const Stopwatch watch;
    for (const BuyResult& result : shop.buy(voucher)) expect(Outcome::kAccepted, result);
    state.SetIterationTime(watch.seconds());
    shop.store();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

void accepted_without_payment(benchmark::State& state) { accepted(state, kVoucher); }
void accepted_with_payment(benchmark::State& state) { accepted(state, kPaidVoucher); }

void paid(benchmark::State& state) {
  PaidShop shop(kHourMs);
  std::int64_t number = 0;
  for (auto _ : state) {
    std::vector<PayRequest> requests;
    for (const BuyResult& result : shop.buy(kPaidVoucher)) {
      requests.push_back({.order = result.order,
                          .payment = "payment-" + std::to_string(++number),
                          .amount_cents = kPrice});
    }
    const Stopwatch watch;
    for (const ChangeResult& result : shop.sale().pay_all(requests)) {
      if (result.outcome != ChangeOutcome::kDone) fail("a payment failed: " + result.detail);
    }
    state.SetIterationTime(watch.seconds());
    shop.store();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

/// Ends every hold that is due, as a worker does. Returns their number.
std::size_t expire(Client& client) {
  std::size_t ended = 0;
  while (true) {
    const auto expired = expire_holds(client, SaleKeys{}, 0);
    if (!expired.ok()) fail(expired.status().ToString());
    ended += expired->ended;
    if (!expired->next_ms || *expired->next_ms > expired->now_ms) return ended;
  }
}

void timed_out(benchmark::State& state) {
  PaidShop shop(1);
  for (auto _ : state) {
    shop.buy(kPaidVoucher);
    std::size_t ended = 0;
    double seconds = 0;
    while (ended < kBatch) {  // the last ones become due a millisecond later
      const Stopwatch watch;
      const std::size_t now = expire(shop.client());
      if (now > 0) seconds += watch.seconds();
      ended += now;
    }
    state.SetIterationTime(seconds);
    shop.store();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

/// Waits until every payment of the shop is due.
void wait_until_due(Client& client) {
  while (true) {
    const Reply last = client("ZRANGE", SaleKeys{}.deadlines(), -1, -1, "WITHSCORES");
    const Reply time = client("TIME");
    if (last.elements().empty()) return;
    const std::int64_t now_s = std::stoll(std::string(time.elements()[0].text()));
    if (std::stoll(std::string(last.elements()[1].text())) < now_s * 1'000) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// Buys one at a time while a worker ends the holds of a million orders that are all due.
void buying_while_holds_expire(benchmark::State& state) {
  constexpr std::size_t kHolds = 1'000'000;
  constexpr std::int64_t kPaymentMs = 10'000;
  constexpr double kMicroseconds = 1e6;
  PaidShop shop(kPaymentMs);
  for (std::size_t held = 0; held < kHolds; held += kBatch) {
    for (const BuyResult& result : shop.buy(kPaidVoucher)) expect(Outcome::kAccepted, result);
  }
  wait_until_due(shop.client());
  for (auto _ : state) {
    std::atomic<bool> is_over = false;
    std::jthread worker([&] {
      for (std::size_t ended = 0; ended < kHolds;) ended += shop.step().expired;
      is_over = true;
    });
    std::vector<double> waits_us;
    const Stopwatch all;
    while (!is_over) {
      const Stopwatch watch;
      expect(Outcome::kAccepted, shop.buy_one(kVoucher));
      waits_us.push_back(watch.seconds() * kMicroseconds);
    }
    state.SetIterationTime(all.seconds());
    const Samples waits = Samples::of(std::move(waits_us));
    state.counters["purchases"] = static_cast<double>(waits.size());
    state.counters["p50_us"] = waits.median();
    state.counters["p99_us"] = waits.quantile(0.99);
    state.counters["max_us"] = waits.max();
  }
  state.SetItemsProcessed(kHolds);
}

BENCHMARK(buying_while_holds_expire)->Iterations(1)->UseManualTime();
BENCHMARK(accepted_without_payment)->UseManualTime();
BENCHMARK(accepted_with_payment)->UseManualTime();
BENCHMARK(paid)->UseManualTime();
BENCHMARK(timed_out)->UseManualTime();

}  // namespace
}  // namespace rushgate::bench
