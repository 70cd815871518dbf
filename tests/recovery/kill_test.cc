// A sale whose process is killed again and again, at points and moments chosen by a seed.
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "storage/rocksdb/rocksdb_store.h"
#include "storage/sqlite/sqlite_order_store.h"
#include "tests/random_seed.h"
#include "tests/recovery/recovery_fixture.h"
#include "tests/recovery/sale_process.h"

namespace rushgate {
namespace {

constexpr int kParts = 4;  // of the test, so that they can run side by side

int kills_wanted() {
  constexpr int kDefault = 480;
  const char* chosen = std::getenv("RUSHGATE_KILLS");
  const int all = chosen == nullptr ? kDefault : std::atoi(chosen);
  return (all + kParts - 1) / kParts;
}

/// One sale from its first start to its end, however many processes that takes.
class KilledSale {
 public:
  /// Its first process is killed when it comes to `first` for the first time, which each does.
  KilledSale(std::uint64_t seed, CrashPoint first)
      : seed_(seed), random_(seed), plan_(SalePlan::make(seed)), first_(first) {}

  /// Lets processes die until one of them reaches the end, or until there were enough of them.
  void run(int kills_max, std::map<CrashPoint, int>& kills_by_point) {
    while (true) {
      SaleProcess process{.dir = directory_.path(), .seed = seed_};
      if (kills_ == 0) {
        process.point = first_;
        process.nth = 1;  // of kMoment, the first too: at once
      } else if (kills_ < kills_max) {
        choose_crash(process);
      }
      std::vector<AcceptedRow> accepted;
      const SaleProcess::End end = process.run(accepted);
      note(accepted);
      ASSERT_NE(end, SaleProcess::End::kFailed) << describe(process);
      if (end == SaleProcess::End::kFinished) {
        last_ = accepted;
        return;
      }
      ++kills_;
      ++kills_by_point[process.point];
    }
  }

  void check() {
    auto orders = SqliteOrderStore::open(directory_.path() / "orders.db");
    ASSERT_TRUE(orders.ok()) << orders.status();
    check_audit(**orders);
    std::map<OrderId, Order> stored;
    for (const Voucher& voucher : plan_.vouchers) {
      const auto of_voucher = (*orders)->list({.voucher = voucher.id, .count_max = 100'000});
      ASSERT_TRUE(of_voucher.ok()) << of_voucher.status();
      check_counts(voucher, *of_voucher);
      for (const Order& order : *of_voucher) stored.emplace(order.id, order);
    }
    check_rows(stored);
  }

  [[nodiscard]] int kills() const { return kills_; }

 private:
  void choose_crash(SaleProcess& process) {
    process.point = static_cast<CrashPoint>(1 + random_() % (kCrashPoints - 1));
    const bool is_commit =
        process.point == CrashPoint::kBeforeCommit || process.point == CrashPoint::kAfterCommit;
    process.nth = 1 + static_cast<int>(random_() % (is_commit ? 40 : 5));
    process.moment_us = static_cast<int>(random_() % 60'000);
  }

  [[nodiscard]] std::string describe(const SaleProcess& process) const {
    return "the process after " + std::to_string(kills_) + " kills, to be killed " +
           crash_point_name(process.point) + ' ' + std::to_string(process.nth);
  }

  /// A row has one answer, whichever process gives it.
  void note(const std::vector<AcceptedRow>& accepted) {
    for (const AcceptedRow& one : accepted) {
      const auto [known, is_new] = accepted_.emplace(one.row, one.order);
      EXPECT_TRUE(is_new || known->second == one.order)
          << "row " << one.row << " was accepted as " << known->second << " and as " << one.order;
    }
  }

  void check_audit(OrderStore& orders) {
    auto store = RocksDbStore::open(directory_.path() / "keyspace");
    ASSERT_TRUE(store.ok()) << store.status();
    ManualClock clock;
    auto sale = RunningSale::open(*std::move(store), orders, clock);
    ASSERT_TRUE(sale.ok()) << sale.status();
    const auto report = (*sale)->sale().audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    ASSERT_EQ(report->vouchers.size(), plan_.vouchers.size());
    for (const VoucherAudit& voucher : report->vouchers) {
      EXPECT_EQ(voucher.created, voucher.admitted);
      EXPECT_EQ(voucher.free + voucher.created, voucher.published);
      EXPECT_EQ(voucher.queued + voucher.dead + voucher.given_back, 0);
    }
  }

  void check_counts(const Voucher& voucher, const std::vector<Order>& orders) {
    EXPECT_EQ(static_cast<std::int64_t>(orders.size()), plan_.orders_expected(voucher));
    std::map<UserId, std::int64_t> bought;
    for (const Order& order : orders) ++bought[order.user];
    for (const auto& [user, count] : bought) {
      EXPECT_LE(count, voucher.limits.per_user) << "user " << user << ", voucher " << voucher.id;
    }
  }

  /// Every row that was ever accepted is one order, and there are no others.
  void check_rows(const std::map<OrderId, Order>& stored) {
    std::set<OrderId> of_rows;
    for (const auto& [row, id] : accepted_) {
      EXPECT_TRUE(of_rows.insert(id).second) << "order " << id << " is the answer to two rows";
      const auto found = stored.find(id);
      ASSERT_NE(found, stored.end()) << "lost: row " << row << ", order " << id;
      EXPECT_EQ(found->second.voucher, plan_.rows[static_cast<std::size_t>(row)].voucher);
      EXPECT_EQ(found->second.user, plan_.rows[static_cast<std::size_t>(row)].user);
    }
    EXPECT_EQ(of_rows.size(), stored.size()) << "orders that no row was told of";
    EXPECT_EQ(last_.size(), accepted_.size()) << "the last process was told of every row again";
  }

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const SalePlan plan_;
  const CrashPoint first_;
  RecoveryDirectory directory_;
  std::map<std::int64_t, OrderId> accepted_;  // by row
  std::vector<AcceptedRow> last_;             // what the process that finished said
  int kills_ = 0;
};

class KillTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, KillTest, ::testing::Range(0, kParts));

TEST_P(KillTest, NothingIsLostDoubledOrOversoldHoweverOftenTheProcessIsKilled) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(GetParam()));
  std::map<CrashPoint, int> kills_by_point;
  int kills = 0;
  int sales = 0;
  constexpr int kPoints = kCrashPoints - 1;  // without kNone: each is where some sale begins to die
  while ((kills < kills_wanted() || sales < kPoints) && !HasFailure()) {
    KilledSale sale(random(), static_cast<CrashPoint>(1 + sales % kPoints));
    sale.run(kills_wanted() - kills, kills_by_point);
    if (!HasFatalFailure()) sale.check();
    kills += sale.kills();
    ++sales;
  }
  std::cout << kills << " kills in " << sales << " sales:";
  for (const auto& [point, count] : kills_by_point)
    std::cout << ' ' << crash_point_name(point) << ' ' << count << ';';
  std::cout << '\n';
  if (HasFailure()) return;
  EXPECT_GE(kills, kills_wanted());
  for (int point = 1; point <= kPoints; ++point) {
    const auto which = static_cast<CrashPoint>(point);
    EXPECT_GT(kills_by_point[which], 0) << "nobody was killed: " << crash_point_name(which);
  }
}

}  // namespace
}  // namespace rushgate
