// One sale used by threads, fibers or callbacks, on every backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {

/// The origin of a test's calls.
struct Caller {
  const char* name;
  ClientOptions client;  // of the sale that they use
  /// Calls work(0), …, work(count - 1) with as much concurrency as possible. Returns when all have
  /// returned.
  void (*run)(Client& client, int count, const std::function<void(int)>& work);
};
using CallerParam = const Caller*;

/// Prints the name for GoogleTest.
inline void PrintTo(const Caller* caller, std::ostream* out) { *out << caller->name; }

inline std::string backend_and_caller(
    const ::testing::TestParamInfo<std::tuple<SaleBackendParam, CallerParam>>& param) {
  return std::string(std::get<0>(param.param)->name) + "_" + std::get<1>(param.param)->name;
}

/// Uses the machine's time. sale_ belongs to the callers. The test itself uses a second one.
class CallersTest
    : public SaleFixture,
      public ::testing::WithParamInterface<std::tuple<SaleBackendParam, CallerParam>> {
 protected:
  static constexpr VoucherId kVoucher = 7;
  static constexpr std::int64_t kStockAtFirst = 60;
  static constexpr std::int64_t kStockAtLast = 100;

  CallersTest()
      : SaleFixture(*std::get<0>(GetParam()), TestTime::kMachines,
                    {.id_block_size = kManyBlocks, .client = caller().client}),
        own_sale_(*Sale::open(backend_.keyspace(), backend_.orders())) {}

  static const Caller& caller() { return *std::get<1>(GetParam()); }
  void run(int count, const std::function<void(int)>& work) {
    caller().run(backend_.client(), count, work);
  }

  /// Publishes. Retries while another change or rebuild runs, or ours lost against another.
  static void publish(Sale& sale, const Voucher& what) {
    absl::Status published;
    do published = sale.publish(what);
    while (absl::IsUnavailable(published) || absl::IsAborted(published));
    EXPECT_TRUE(published.ok()) << published;
  }

  /// Buys until the user has one or everything is sold. Then buys once more, which must fail.
  void buy_as(Sale& sale, std::int64_t user) {
    while (true) {
      const bool all_published = all_published_;
      const BuyResult result = sale.buy(kVoucher, user);
      if (result.outcome == Outcome::kAccepted) break;
      if (result.outcome == Outcome::kSoldOut && all_published) return;
      ASSERT_TRUE(result.outcome == Outcome::kSoldOut || result.outcome == Outcome::kOverloaded)
          << outcome_name(result.outcome) << ' ' << result.detail;
    }
    ++accepted_;
    BuyResult again = sale.buy(kVoucher, user);
    while (again.outcome == Outcome::kOverloaded) again = sale.buy(kVoucher, user);
    EXPECT_TRUE(again.outcome == Outcome::kLimitReached || again.outcome == Outcome::kSoldOut)
        << outcome_name(again.outcome) << ' ' << again.detail;
  }

  /// Loses the stock in the middle of a sale, and publishes more.
  void disturb(Client& client, Sale& sale) {
    while (accepted_ < kStockAtFirst / 3) client("PING");
    client("DEL", SaleKeys{}.stock(kVoucher));
    while (accepted_ < kStockAtFirst / 2) client("PING");
    publish(sale, voucher(kVoucher, kStockAtLast));
    all_published_ = true;
  }

  /// Stores all queued orders.
  void drain() {
    const auto worker = make_worker("c1", {.retry_after_ms = 1, .pause_ms_max = 1});
    while (worker->step().kind != OrderWorker::Step::Kind::kIdle) {
    }
  }

  void expect_all_sold_and_no_user_twice() {
    EXPECT_EQ(accepted_, kStockAtLast);
    drain();
    const auto stored = backend_.orders().list(
        {.user = {}, .voucher = kVoucher, .status = {}, .after = 0, .count_max = 1'000});
    ASSERT_TRUE(stored.ok()) << stored.status();
    std::set<UserId> users;
    for (const Order& order : *stored) EXPECT_TRUE(users.insert(order.user).second) << order.user;
    EXPECT_EQ(static_cast<std::int64_t>(users.size()), kStockAtLast);
    expect_audit_passes();
  }

  static constexpr std::int64_t kManyBlocks = 8;

  const std::unique_ptr<Sale> own_sale_;
  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<bool> all_published_ = false;
};

}  // namespace rushgate
