// The rate of a sale while it is backed up, and alone:
//   backup_costs [orders] [os|sync] [rounds] [within_s]           (1,000,000 orders, os, 3, 300)
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

  BackupReport back_up(std::chrono::seconds within) {
    auto report = sale_->backup(scratch_.path() / "backups", {.within = within});
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

struct Measurement {
  std::int64_t orders = 1'000'000;
  bool syncs = false;
  int rounds = 3;
  std::chrono::seconds within = std::chrono::minutes(5);
};

void measure_backups(const Measurement& measurement) {
  BackedUpSale sale(measurement.orders, measurement.syncs);
  Samples alone;
  Samples beside;
  Samples shares;
  const auto back_up = [&] { return sale.back_up(measurement.within); };
  std::chrono::milliseconds took(0);
  sale.rate_beside([&] { took = std::chrono::milliseconds(back_up().took_ms); });
  for (int round = 0; round < measurement.rounds; ++round) {
    // For as long, before and after, since the rate changes with the time and the database.
    const auto rate_alone = [&] {
      return sale.rate_beside([&] { std::this_thread::sleep_for(took); });
    };
    BackupReport report;
    const double before = rate_alone();
    const double rate = sale.rate_beside([&] { report = back_up(); });
    took = std::chrono::milliseconds(report.took_ms);
    const double mean = (before + rate_alone()) / 2;
    beside.add(rate);
    alone.add(mean);
    shares.add(rate / mean);
    std::printf("backup of %.0f MB in %.2f s: %.0f purchases/s beside it, %.0f alone: %+.1f %%\n",
                static_cast<double>(report.bytes) / kMegabyte,
                static_cast<double>(report.took_ms) / 1e3, rate, mean,
                (rate / mean - 1) * kPercent);
    std::fflush(stdout);
  }
  std::printf("median: %.0f purchases/s beside a backup, %.0f alone: %+.1f %%\n", beside.median(),
              alone.median(), (shares.median() - 1) * kPercent);
}

}  // namespace
}  // namespace rushgate::bench

int main(int argc, char** argv) {
  rushgate::bench::Measurement measurement;
  if (argc > 1) measurement.orders = std::atoll(argv[1]);
  if (argc > 2) measurement.syncs = std::string_view(argv[2]) == "sync";
  if (argc > 3) measurement.rounds = std::atoi(argv[3]);
  if (argc > 4) measurement.within = std::chrono::seconds(std::atoll(argv[4]));
  rushgate::bench::measure_backups(measurement);
  return 0;
}
