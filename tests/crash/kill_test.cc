// A sale whose process is killed repeatedly, at points and moments chosen by a seed. The keyspace
// is embedded, or on a redis-server that keeps running.
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "engine/sale/vouchers/voucher_book.h"
#include "tests/crash/asked_sale.h"
#include "tests/crash/sale_process.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/sweep.h"
#include <rushgate/engine.h>
#include <rushgate/random_seed.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

/// The place of a killed process's keyspace, and the points at which it can be killed.
struct KilledOn {
  const char* name;
  bool is_redis;
  int parts;    // of the test, which run in parallel; an ordinary run has one
  int kills;    // in each part, unless RUSHGATE_KILLS is set
  int nth_max;  // of a request or a commit
  std::vector<CrashPoint> points;
  bool has_own_orders = false;  // SaleFiles::has_own_orders
  bool takes_payments = false;  // SaleProcess::takes_payments
};

const KilledOn kKilledOn[] = {
    {.name = "RocksDb",
     .is_redis = false,
     .parts = 4,
     .kills = 120,
     .nth_max = 40,
     .points = {CrashPoint::kBeforeCommit, CrashPoint::kAfterCommit, CrashPoint::kBeforeSync,
                CrashPoint::kAfterSync, CrashPoint::kBeforeWrite, CrashPoint::kAfterWrite,
                CrashPoint::kInRebuild, CrashPoint::kMoment}},
    {.name = "OwnOrders",
     .is_redis = false,
     .parts = 1,
     .kills = 60,
     .nth_max = 40,
     .points = {CrashPoint::kBeforeCommit, CrashPoint::kAfterCommit, CrashPoint::kBeforeWrite,
                CrashPoint::kAfterWrite, CrashPoint::kInRebuild, CrashPoint::kMoment},
     .has_own_orders = true},
    {.name = "RocksDbWithPayments",
     .is_redis = false,
     .parts = 2,
     .kills = 60,
     .nth_max = 60,
     .points = {CrashPoint::kBeforeCommit, CrashPoint::kAfterCommit, CrashPoint::kBeforeSync,
                CrashPoint::kAfterSync, CrashPoint::kBeforeWrite, CrashPoint::kAfterWrite,
                CrashPoint::kInRebuild, CrashPoint::kMoment},
     .takes_payments = true},
    {.name = "RedisWithPayments",
     .is_redis = true,
     .parts = 1,
     .kills = 40,
     .nth_max = 200,
     .points = {CrashPoint::kBeforeCommit, CrashPoint::kAfterCommit, CrashPoint::kBeforeWrite,
                CrashPoint::kAfterWrite, CrashPoint::kInRebuild, CrashPoint::kMoment},
     .takes_payments = true},
    {.name = "Redis",
     .is_redis = true,
     .parts = 2,
     .kills = 60,
     .nth_max = 120,
     .points = {CrashPoint::kBeforeCommit, CrashPoint::kAfterCommit, CrashPoint::kBeforeWrite,
                CrashPoint::kAfterWrite, CrashPoint::kInRebuild, CrashPoint::kMoment}},
};

int kills_wanted(const KilledOn& on) {
  const char* chosen = std::getenv("RUSHGATE_KILLS");
  if (chosen != nullptr) return std::atoi(chosen);
  return testing::is_full_run() ? on.kills : on.kills / 2;
}

/// One sale from start to end, across as many processes as needed.
class KilledSale {
 public:
  /// The first process is killed when it reaches `first` for the first time. Every process reaches
  /// it.
  KilledSale(const KilledOn& on, std::uint64_t seed, CrashPoint first)
      : on_(on), random_(seed), sale_(seed, on.has_own_orders, on.takes_payments), first_(first) {
    if (on.is_redis) {
      // The server's time stands still. Only the age of an abandoned rebuild moves it.
      server_ =
          std::make_unique<testing::RedisServer>(testing::RedisServerOptions{.manual_clock = true});
    }
  }

  /// Kills processes until one of them completes, or `kills_max` is reached.
  void run(int kills_max, std::map<CrashPoint, int>& kills_by_point) {
    while (true) {
      SaleProcess process{.dir = sale_.directory(),
                          .seed = sale_.seed(),
                          .has_own_orders = on_.has_own_orders,
                          .takes_payments = on_.takes_payments};
      if (server_ != nullptr) process.redis_url = server_->url();
      if (kills_ == 0) {
        process.point = first_;
        process.nth = 1;  // of kMoment too: kill at once
      } else if (kills_ < kills_max) {
        choose_crash(process);
      }
      std::vector<AcceptedRow> accepted;
      const SaleProcess::End end = process.run(accepted);
      sale_.note(accepted);
      ASSERT_NE(end, SaleProcess::End::kFailed) << describe(process);
      if (end == SaleProcess::End::kFinished) return;
      ++kills_;
      ++kills_by_point[process.point];
      abandon_rebuild();
    }
  }

  void check() {
    const std::unique_ptr<Backend> keyspace = open_keyspace();
    sale_.check(*keyspace);
  }

  [[nodiscard]] int kills() const { return kills_; }

 private:
  void choose_crash(SaleProcess& process) {
    process.point = on_.points[random_() % on_.points.size()];
    const bool is_commit =
        process.point == CrashPoint::kBeforeCommit || process.point == CrashPoint::kAfterCommit;
    const auto nth_max = static_cast<std::uint64_t>(is_commit ? on_.nth_max : 5);
    process.nth = 1 + static_cast<int>(random_() % nth_max);
    process.moment_us = static_cast<int>(random_() % 60'000);
  }

  /// Makes the rebuild look old: a server does not notice that the process has ended.
  void abandon_rebuild() {
    if (server_ == nullptr) return;
    now_ms_ += VoucherRebuilder::kAbandonedMs + 1;
    server_->set_now_ms(now_ms_);
  }

  std::unique_ptr<Backend> open_keyspace() {
    if (server_ != nullptr) return *RedisBackend::open(*RedisOptions::from_url(server_->url()));
    return *Engine::open(*RocksDbStore::open(sale_.directory() / "keyspace"));
  }

  [[nodiscard]] std::string describe(const SaleProcess& process) const {
    return "the process after " + std::to_string(kills_) + " kills, to be killed " +
           crash_point_name(process.point) + ' ' + std::to_string(process.nth);
  }

  const KilledOn& on_;
  std::mt19937_64 random_;
  AskedSale sale_;
  const CrashPoint first_;
  std::unique_ptr<testing::RedisServer> server_;
  std::int64_t now_ms_ = ManualClock::kStartMs;
  int kills_ = 0;
};

struct Part {
  const KilledOn* on;
  int number;
};

std::vector<Part> parts() {
  std::vector<Part> parts;
  for (const KilledOn& on : kKilledOn) {
    const int count = testing::is_full_run() ? on.parts : 1;
    for (int number = 0; number < count; ++number) parts.push_back({&on, number});
  }
  return parts;
}

std::string part_name(const ::testing::TestParamInfo<Part>& part) {
  return std::string(part.param.on->name) + std::to_string(part.param.number);
}

void PrintTo(const Part& part, std::ostream* out) { *out << part.on->name << part.number; }

class KillTest : public ::testing::TestWithParam<Part> {};
INSTANTIATE_TEST_SUITE_P(Parts, KillTest, ::testing::ValuesIn(parts()), part_name);

TEST_P(KillTest, RepeatedKillsLoseDoubleAndOversellNothing) {
  const KilledOn& on = *GetParam().on;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(GetParam().number));
  std::map<CrashPoint, int> kills_by_point;
  int kills = 0;
  std::size_t sales = 0;
  // Each point is the first kill of some sale.
  while ((kills < kills_wanted(on) || sales < on.points.size()) && !HasFailure()) {
    KilledSale sale(on, random(), on.points[sales % on.points.size()]);
    sale.run(kills_wanted(on) - kills, kills_by_point);
    if (!HasFatalFailure()) sale.check();
    kills += sale.kills();
    ++sales;
  }
  std::cout << kills << " kills in " << sales << " sales:";
  for (const auto& [point, count] : kills_by_point)
    std::cout << ' ' << crash_point_name(point) << ' ' << count << ';';
  std::cout << '\n';
  if (HasFailure()) return;
  EXPECT_GE(kills, kills_wanted(on));
  for (const CrashPoint point : on.points) {
    EXPECT_GT(kills_by_point[point], 0) << "no process was killed: " << crash_point_name(point);
  }
}

}  // namespace
}  // namespace rushgate
