// The rate of a sale while it is backed up, and alone:
//   backup_costs [orders] [os|sync]                                        (1,000,000 orders, os)
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/bench/load.h"
#include "tests/bench/samples.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include <rushgate/flash_sale.h>

namespace rushgate::bench {
namespace {

constexpr int kRounds = 7;
constexpr double kMegabyte = 1e6;
constexpr double kPercent = 100;

/// A sale in a directory, with a worker, as a program opens it.
class BackedUpSale {
 public:
  BackedUpSale(std::int64_t orders, bool syncs) : buyers_(syncs ? kThreads : 1) {
    const std::string url =
        (scratch_.path() / "shop").string() +
        "?durability=" + std::string(durability_name(syncs ? Durability::kSync : Durability::kOs));
    auto sale = FlashSale::open(url);
    if (!sale.ok()) fail(sale.status().ToString());
    sale_ = *std::move(sale);
    const absl::Status published = sale_->publish({.id = kVoucher, .stock = kUnlimited});
    if (!published.ok()) fail(published.ToString());
    std::vector<BuyRequest> batch(kBatch, {.voucher = kVoucher});
    for (std::int64_t bought = 0; bought < orders; bought += kBatch) {
      for (BuyRequest& request : batch) request.user = UserId(++users_);
      for (const BuyResult& result : sale_->sale().buy_all(batch))
        expect(Outcome::kAccepted, result);
    }
    store_orders();
  }

  /// Buys, one order at a time on each thread, while `runs`. Returns the rate.
  template <class Runs>
  double rate_beside(Runs runs) {
    std::atomic<bool> is_over = false;
    std::atomic<std::int64_t> bought = 0;
    std::vector<std::thread> buyers;
    for (int i = 0; i < buyers_; ++i) {
      buyers.emplace_back([&] {
        std::int64_t mine = 0;
        for (; !is_over; ++mine) expect(Outcome::kAccepted, sale_->buy(kVoucher, ++users_));
        bought += mine;
      });
    }
    const Stopwatch watch;
    runs();
    const double seconds = watch.seconds();
    is_over = true;
    for (std::thread& buyer : buyers) buyer.join();
    store_orders();
    return static_cast<double>(bought) / seconds;
  }

  BackupReport back_up() {
    auto report = sale_->backup(scratch_.path() / "backups");
    if (!report.ok()) fail(report.status().ToString());
    return *std::move(report);
  }

 private:
  void store_orders() {
    const absl::Status stored = sale_->drain();
    if (!stored.ok()) fail(stored.ToString());
  }

  const ScratchDirectory scratch_;
  const int buyers_;
  std::unique_ptr<FlashSale> sale_;
  std::atomic<std::int64_t> users_ = 0;
};

void measure_backups(std::int64_t orders, bool syncs) {
  BackedUpSale sale(orders, syncs);
  Samples alone;
  Samples beside;
  Samples shares;
  for (int round = 0; round < kRounds; ++round) {
    BackupReport report;
    const double rate = sale.rate_beside([&] { report = sale.back_up(); });
    const std::chrono::milliseconds same(report.took_ms);  // as long as the backup took
    const double rate_alone = sale.rate_beside([&] { std::this_thread::sleep_for(same); });
    beside.add(rate);
    alone.add(rate_alone);
    shares.add(rate / rate_alone);
    std::printf("backup of %.0f MB in %.2f s: %.0f purchases/s beside it, %.0f alone: %+.1f %%\n",
                static_cast<double>(report.bytes) / kMegabyte,
                static_cast<double>(report.took_ms) / 1e3, rate, rate_alone,
                (rate / rate_alone - 1) * kPercent);
    std::fflush(stdout);
  }
  std::printf("median: %.0f purchases/s beside a backup, %.0f alone: %+.1f %%\n", beside.median(),
              alone.median(), (shares.median() - 1) * kPercent);
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  const std::int64_t orders = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  rushgate::bench::measure_backups(orders, argc > 2 && std::string_view(argv[2]) == "sync");
  return 0;
}
