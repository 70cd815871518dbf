// The cost of calls with ids, users and keys that were made up, while many orders are queued:
//   strangers [queued orders] [threads that buy] [os|sync]     (1,000,000 orders, 1 thread, os)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/order_database.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"

namespace rushgate::bench {
namespace {

constexpr std::int64_t kBatch = 1'000;
constexpr double kMicroseconds = 1e6;
constexpr double kPhaseSeconds = 3;
constexpr VoucherId kNoVoucher = 1'000'000;  // and the ids after it

/// A call of the library, which gets numbers that nothing has.
struct Kind {
  const char* name;
  std::function<void(std::int64_t number)> call;
};

class Backlog {
 public:
  Backlog(std::int64_t orders, int buyers, Durability durability)
      : buyers_(buyers), shop_(durability, &open_orders_in) {
    for (std::int64_t done = 0; done < orders; done += kBatch) buy(kBatch);
  }

  void show_calls() {
    for (const Kind& kind : kinds()) show(kind);
  }

  /// Shows the rate of purchases of one thread, alone and next to a thread of strangers.
  void show_purchases() {
    constexpr double kPaced = 1'000;  // calls a second
    constexpr double kUnpaced = 1e9;
    // The cheapest call there is, to know the cost of a second thread.
    const Kind cheap{"made-up vouchers",
                     [&](std::int64_t n) { shop_.sale().buy(kNoVoucher + n, 1); }};
    const Kind pays{
        "made-up payments", [&](std::int64_t n) {
          shop_.sale().pay({.order = made_up(n), .payment = "stranger", .amount_cents = 1});
        }};
    const Kind none{"nothing", {}};
    double alone = 0;
    for (const auto& [kind, rate] :
         {std::pair(&none, 0.0), std::pair(&cheap, kPaced), std::pair(&pays, kPaced),
          std::pair(&cheap, kUnpaced), std::pair(&pays, kUnpaced), std::pair(&none, 0.0)}) {
      std::int64_t made = 0;
      const double purchases = rate_next_to(*kind, rate, made);
      if (alone == 0) alone = purchases;
      std::printf("%9.0f purchases/s (%.2f) next to %s, %.0f a second\n", purchases,
                  purchases / alone, kind->name, static_cast<double>(made) / kPhaseSeconds);
      std::fflush(stdout);
    }
  }

 private:
  void buy(std::int64_t count) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = 0; i < count; ++i) {
      requests.push_back({.voucher = kVoucher, .user = shop_.take_users(1)});
    }
    for (const BuyResult& result : shop_.sale().buy_all(requests)) {
      expect(Outcome::kAccepted, result);
      last_ = result.order;
    }
  }

  /// Returns an id that no order has, of the present day and second.
  [[nodiscard]] OrderId made_up(std::int64_t number) const { return last_ + 1'000'000 + number; }

  std::vector<Kind> kinds() {
    Sale& sale = shop_.sale();
    const auto text = [](std::int64_t number) { return "made-up-" + std::to_string(number); };
    return {
        {"pay()",
         [&, text](std::int64_t n) {
           sale.pay({.order = made_up(n), .payment = text(n), .amount_cents = 1});
         }},
        {"cancel()", [&](std::int64_t n) { sale.cancel(made_up(n), "no"); }},
        {"use()", [&](std::int64_t n) { sale.use(made_up(n)); }},
        {"refund()", [&](std::int64_t n) { sale.refund(made_up(n), "no"); }},
        {"confirm_refund()", [&, text](std::int64_t n) { sale.confirm_refund(text(n)); }},
        {"status()", [&](std::int64_t n) { sale.status(made_up(n)).IgnoreError(); }},
        {"orders_of()", [&](std::int64_t n) { sale.orders_of(-1 - n).IgnoreError(); }},
        {"buy(), made-up voucher", [&](std::int64_t n) { sale.buy(kNoVoucher + n, 1); }},
        {"buy(), made-up key",
         [&, text](std::int64_t n) { sale.buy(kVoucher, 1 + n % kBatch, text(n)); }},
        {"wait_for(), made-up voucher", [&](std::int64_t n) { sale.wait_for(kNoVoucher + n, 1); }},
        {"leave_waiting_list()",
         [&](std::int64_t n) {
           sale.leave_waiting_list(kVoucher, 1'000'000'000 + n).IgnoreError();
         }},
        {"voucher()", [&](std::int64_t n) { sale.voucher(kNoVoucher + n).IgnoreError(); }},
        {"summary()", [&](std::int64_t n) { sale.summary(kNoVoucher + n).IgnoreError(); }},
        {"retry_dead_letter()", [&](std::int64_t n) {
           sale.retry_dead_letter(std::to_string(1 + n) + "-0").IgnoreError();
         }}};
  }

  /// Shows the first call, the mean of the others and the slowest of them.
  void show(const Kind& kind) {
    constexpr int kCalls = 2'000;
    constexpr double kSecondsMax = 5;
    const auto timed = [&](std::int64_t number) {
      const Stopwatch watch;
      kind.call(number);
      return watch.seconds() * kMicroseconds;
    };
    const double first = timed(0);
    double sum = 0;
    double slowest = 0;
    int calls = 0;
    for (const Stopwatch watch; calls < kCalls && watch.seconds() < kSecondsMax;) {
      const double us = timed(++calls);
      sum += us;
      slowest = std::max(slowest, us);
    }
    std::printf("%-28s first %11.1f us, then %9.1f us on average, %9.1f us at most\n", kind.name,
                first, sum / calls, slowest);
    std::fflush(stdout);
  }

  double rate_next_to(const Kind& kind, double calls_per_second, std::int64_t& made) {
    if (kind.call) kind.call(0);  // reads what nobody has read since the phase before
    std::atomic<bool> stop{false};
    std::thread stranger([&] {
      const Stopwatch watch;
      while (!stop && kind.call) {
        const double due = static_cast<double>(made) / calls_per_second - watch.seconds();
        if (due > 0) std::this_thread::sleep_for(std::chrono::duration<double>(due));
        kind.call(++made);
      }
    });
    std::atomic<std::int64_t> bought{0};
    std::vector<std::thread> buyers;
    for (int i = 0; i < buyers_; ++i) {
      buyers.emplace_back([&, user = shop_.take_users(kUsersPerBuyer)]() mutable {
        for (const Stopwatch watch; watch.seconds() < kPhaseSeconds; ++bought) {
          expect(Outcome::kAccepted, shop_.sale().buy(kVoucher, user++));
        }
      });
    }
    for (std::thread& buyer : buyers) buyer.join();
    stop = true;
    stranger.join();
    return static_cast<double>(bought) / kPhaseSeconds;
  }

  static constexpr std::int64_t kUsersPerBuyer = 10'000'000;

  const int buyers_;
  Shop shop_;
  OrderId last_ = 0;
};

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  const std::int64_t orders = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const int buyers = argc > 2 ? std::atoi(argv[2]) : 1;
  const bool syncs = argc > 3 && std::string_view(argv[3]) == "sync";
  rushgate::bench::Backlog backlog(orders, buyers,
                                   syncs ? rushgate::Durability::kSync : rushgate::Durability::kOs);
  backlog.show_calls();
  backlog.show_purchases();
  return 0;
}
