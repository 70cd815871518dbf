// What a purchase costs the masters of a Redis Cluster and its sellers, and how many purchases per second follow
// from that for more masters than this machine has processors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <fmt/format.h>

#include "engine/core/client/info_value.h"
#include "tests/bench/lines.h"
#include "tests/bench/load.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/fiber_wait.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>

namespace rushgate::bench {
namespace {

constexpr std::size_t kMasters = 4;
constexpr int kLanes = kLanesMax;
static_assert(kLanes == kMastersMax);
constexpr VoucherId kVouchers = 64;

/// Processor time of a purchase, in microseconds: until it is decided, and until its order is stored.
struct PurchaseCost {
  double master = 0;         // of all masters together
  double master_stored = 0;  // likewise, for storing
  double seller = 0;
  double worker = 0;  // without its database
};

/// A sale on a new cluster.
class ClusterSale {
 public:
  /// With one voucher on all lanes if `is_split`, else with kVouchers.
  ClusterSale(std::size_t masters, int lanes, bool is_split)
      : cluster_({.masters = masters,
                  .replicas = 0,
                  .arguments = {"--appendonly", "yes", "--auto-aof-rewrite-percentage", "0",
                                "--cluster-node-timeout", "60000"}}),
        vouchers_(is_split ? 1 : kVouchers) {
    auto backend = RedisBackend::open(*RedisOptions::from_url(cluster_.url()));
    if (!backend.ok()) fail(backend.status().ToString());
    backend_ = *std::move(backend);
    auto sale = Sale::open(*backend_, orders_, {.lanes = lanes, .client = {.wait = &fiber_wait()}});
    if (!sale.ok()) fail(sale.status().ToString());
    sale_ = *std::move(sale);
    for (VoucherId id = 1; id <= vouchers_; ++id) {
      constexpr std::int64_t kFarOffMs = 4'000'000'000'000;
      const absl::Status published = sale_->publish(
          {.id = id, .stock = kUnlimited, .end_ms = kFarOffMs, .lanes = is_split ? lanes : 1});
      if (!published.ok()) fail(published.ToString());
    }
  }

  PurchaseCost sell(std::int64_t count) {
    const double before = masters_us();
    const double begin = cpu_seconds();
    std::vector<boost::fibers::fiber> fibers;
    for (int f = 0; f < kFibers; ++f) {
      fibers.emplace_back([&, first = next_user_ + f * (count / kFibers)] {
        for (std::int64_t i = first; i < first + count / kFibers; ++i) {
          expect(Outcome::kAccepted, sale_->buy(1 + i % vouchers_, user_id(i)));
        }
      });
    }
    for (auto& fiber : fibers) fiber.join();
    next_user_ += count;
    const double sold = masters_us();
    const double seller = cpu_seconds();
    store();
    const auto whole = count / kFibers * kFibers;
    const auto purchases = static_cast<double>(whole);
    return {.master = (sold - before) / purchases,
            .master_stored = (masters_us() - sold) / purchases,
            .seller = (seller - begin) * kMicroseconds / purchases,
            .worker = (cpu_seconds() - seller) * kMicroseconds / purchases};
  }

 private:
  /// Stores what is queued.
  void store() {
    for (const SaleLane& lane : sale_->lanes()) {
      OrderWorker worker(*backend_, lane.stores, lane.keys, WorkerOptions{.consumer = "bench"});
      OrderWorker::Step step;
      do {
        step = worker.step();
      } while (step.kind == OrderWorker::Step::Kind::kWorked);
      if (step.kind != OrderWorker::Step::Kind::kIdle) fail("the worker pauses");
    }
  }
  /// Returns the processor time that the masters have used to execute commands.
  [[nodiscard]] double masters_us() {
    double seconds = 0;
    for (std::size_t i = 0; i < cluster_.nodes(); ++i) {
      const Reply info = testing::ask(cluster_.node(i), Request::of("INFO", "cpu"));
      for (const std::string_view field :
           {"used_cpu_user_main_thread", "used_cpu_sys_main_thread"}) {
        seconds += std::stod(std::string(info_value(info.text(), field)));
      }
    }
    return seconds * kMicroseconds;
  }

  testing::RedisCluster cluster_;
  const VoucherId vouchers_;
  MemoryOrderStore orders_{"bench"};
  std::unique_ptr<RedisBackend> backend_;
  std::unique_ptr<Sale> sale_;
  std::int64_t next_user_ = 1;
};

/// The costs of one way to sell, with all its lanes and with one.
class Costs {
 public:
  Costs(std::string_view what, bool is_split)
      : what_(what),
        lanes_(kMasters, kLanes, is_split),
        one_(1, 1, is_split),
        master_(comparison(kDecided, "its master")),
        stored_(comparison(kStored, "its master")),
        seller_(comparison(kDecided, "the seller")),
        worker_(comparison(kStored, "the worker")) {}

  void measure(std::int64_t count) {
    add(lanes_.sell(count), &Comparison::ours);
    add(one_.sell(count), &Comparison::peer);
  }
  void report_to(Report& report) {
    for (Comparison* const comparison : {&master_, &stored_, &seller_, &worker_}) {
      report.add(*comparison);
    }
    for (int masters = 1; masters <= kMastersMax; masters *= 2) report.add(predicted(masters));
  }

 private:
  Comparison comparison(std::string_view step, std::string_view whose) {
    return {.line = cost_line(step, what_, whose),
            .unit = "µs",
            .better = Better::kLess,
            .ours_is = fmt::format("{} lanes on {} masters, 1,000 fibers, appendfsync everysec",
                                   kLanes, kMasters),
            .peer_is = "one lane on one master"};
  }
  void add(const PurchaseCost& cost, Samples Comparison::*side) {
    (master_.*side).add(cost.master);
    (stored_.*side).add(cost.master_stored);
    (seller_.*side).add(cost.seller);
    (worker_.*side).add(cost.worker);
  }
  [[nodiscard]] Figure predicted(int masters) const {
    const int busiest = (kLanes + masters - 1) / masters;  // lanes on the master that has the most
    const double us = master_.ours.median() + stored_.ours.median();
    const double rate = kMicroseconds / us * kLanes / busiest;
    return {.line = predicted_line(masters, what_),
            .unit = "purchases/s",
            .value = rate,
            .better = Better::kMore,
            .note = fmt::format("{:.1f} processors for sellers, and {:.1f} for workers",
                                rate * seller_.ours.median() / kMicroseconds,
                                rate * worker_.ours.median() / kMicroseconds)};
  }

  const std::string what_;
  ClusterSale lanes_;
  ClusterSale one_;
  Comparison master_;
  Comparison stored_;
  Comparison seller_;
  Comparison worker_;
};

}  // namespace

void measure_cluster(const Effort& effort, Report& report) {
  constexpr std::int64_t kShare = 5;
  const std::int64_t count = std::max<std::int64_t>(effort.requests / kShare, kFibers);
  for (const bool is_split : {false, true}) {
    Costs costs(is_split ? kOneVoucher : kManyVouchers, is_split);
    for (int round = 0; round < effort.rounds; ++round) costs.measure(count);
    costs.report_to(report);
  }
}

}  // namespace rushgate::bench
