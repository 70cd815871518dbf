// Sells many vouchers one after the other, as a shop does in a day, and archives each sale when it
// has ended. Shows the remains of the archived sales:
//   sale_days [sales] [orders of each]     (100 sales of 100,000 orders)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/core/base/time_units.h"
#include "tests/bench/order_database.h"
#include "tests/bench/part_process.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/order_worker.h>

namespace rushgate::bench {
namespace {

constexpr std::int64_t kPrice = 100;
constexpr std::int64_t kBatch = 1'000;
constexpr VoucherId kFirstVoucher = 1'000;

void check(const absl::Status& status) {
  if (!status.ok()) fail(status.ToString());
}

class Day {
 public:
  Day()
      : shop_(Durability::kOs, &open_orders_in),
        worker_(shop_.engine(), shop_.orders(), SaleKeys{}) {}

  /// Sells a voucher: four of five orders are paid, the others are cancelled.
  void sell(VoucherId voucher, std::int64_t count) {
    constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
    check(shop_.sale().publish({.id = voucher,
                                .title = "one of many",
                                .stock = count,
                                .begin_ms = 0,
                                .end_ms = kFarOffMs,
                                .price_cents = kPrice,
                                .payment_ms = kHourMs}));
    for (std::int64_t done = 0; done < count; done += kBatch) end_all(buy(voucher, kBatch));
    check(shop_.sale().close(voucher));
  }

  /// Stores all orders, and archives the sale.
  void archive(VoucherId voucher) {
    while (worker_.step().kind == OrderWorker::Step::Kind::kWorked) {
    }
    check(shop_.sale().archive(voucher));
  }

  void show(int sales, double seconds) {
    constexpr double kMiB = 1024.0 * 1024.0;
    const Reply keys = shop_.client()("DBSIZE");
    const auto left = shop_.orders().list({.count_max = 1});
    if (!keys.is_integer() || !left.ok() || !left->empty()) fail("orders are left");
    const double keyspace = directory_bytes(shop_.dir() / "keyspace");
    const double orders = directory_bytes(shop_.dir()) - keyspace;
    std::printf(
        "%5d sales %8.1f s  %lld keys, %.1f MiB in the keyspace, %.1f MiB allocated, %.1f MiB "
        "resident, %.1f MiB RocksDB, %.1f MiB SQLite\n",
        sales, seconds, static_cast<long long>(keys.integer()), used_memory() / kMiB,
        process_memory().allocated / kMiB, process_memory().resident / kMiB, keyspace / kMiB,
        orders / kMiB);
    std::fflush(stdout);
  }

 private:
  /// Returns the bytes of the keyspace in memory.
  double used_memory() {
    const std::string info(shop_.client()("INFO", "memory").text());
    const std::string field = "used_memory:";
    return std::stod(info.substr(info.find(field) + field.size()));
  }

  std::vector<OrderId> buy(VoucherId voucher, std::int64_t count) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = 0; i < count; ++i) {
      requests.push_back({.voucher = voucher, .user = shop_.take_users(1)});
    }
    std::vector<OrderId> orders;
    for (const BuyResult& result : shop_.sale().buy_all(requests)) {
      expect(Outcome::kAccepted, result);
      orders.push_back(result.order);
    }
    return orders;
  }

  void end_all(const std::vector<OrderId>& orders) {
    constexpr std::size_t kCancelled = 5;  // every fifth
    std::vector<PayRequest> payments;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (i % kCancelled == 0) {
        if (shop_.sale().cancel(orders[i], "a benchmark").outcome != ChangeOutcome::kDone) {
          fail("a cancellation failed");
        }
        continue;
      }
      payments.push_back(
          {.order = orders[i], .payment = std::to_string(orders[i]), .amount_cents = kPrice});
    }
    for (const ChangeResult& result : shop_.sale().pay_all(payments)) {
      if (result.outcome != ChangeOutcome::kDone) fail("a payment failed: " + result.detail);
    }
  }

  Shop shop_;
  OrderWorker worker_;
};

int run(int sales, std::int64_t orders) {
  constexpr int kLines = 10;
  Day day;
  const Stopwatch watch;
  for (int sale = 1; sale <= sales; ++sale) {
    const VoucherId voucher = kFirstVoucher + sale;
    day.sell(voucher, orders);
    day.archive(voucher);
    if (sale == 1 || sale * kLines % sales == 0) day.show(sale, watch.seconds());
  }
  return 0;
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  const int sales = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::int64_t orders = argc > 2 ? std::atoll(argv[2]) : 100'000;
  return rushgate::bench::run(sales, orders);
}
