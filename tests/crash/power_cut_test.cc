// A sale whose power is cut: the log loses its unsynced tail, the database loses nothing.
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/crash/recovery_fixture.h"
#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

constexpr int kCutsPerSale = 6;

/// One sale through several power cuts. The seed determines everything except the store's
/// background writes. So a cut may come a few operations earlier or later.
class CutSale {
 public:
  CutSale(Durability durability, std::uint64_t seed) : durability_(durability), random_(seed) {
    std::filesystem::create_directories(keyspace_dir());
    disk_ = faults::PowerCutFileSystem::make(keyspace_dir());
    log_bytes_max_ = std::size_t{1} << (chance(2) ? 20 : 15);
    auto orders = SqliteOrderStore::open(directory_.path() / "orders.db");
    if (!orders.ok()) throw std::runtime_error(orders.status().ToString());
    orders_ = *std::move(orders);
  }

  void sell_until_the_power_is_cut() {
    const bool cut_while_opening = chance(4);
    if (cut_while_opening) disk_->cut_power_after(pick(60));
    if (auto running = open(); running.ok()) {
      if (!cut_while_opening) disk_->cut_power_after(1 + pick(150));
      constexpr int kActions = 120;
      for (int i = 0; i < kActions && (*running)->engine().health().ok(); ++i) act(**running);
      disk_->cut_power();
    } else {
      EXPECT_TRUE(cut_while_opening) << running.status();
      disk_->cut_power();
    }
    disk_->power_on(chance(3) ? std::nullopt : std::optional(random_()));
  }

  void check() {
    auto running = open();
    ASSERT_TRUE(running.ok()) << running.status();
    expect_audit_passes((*running)->sale());
    expect_database_not_ahead((*running)->client());
    expect_safe_answers_kept((*running)->sale());
  }

  /// Sells a voucher, and cuts the power after `operations` of the disk while the voucher is archived.
  /// Then open() leaves nothing of an archived one.
  void cut_while_archiving(int operations) {
    if (auto running = open(); running.ok()) {
      Sale& sale = (*running)->sale();
      ASSERT_TRUE(sale.publish(voucher_on_sale(1, 3, 1)).ok());
      for (std::int64_t user = 1; user <= 3; ++user) {
        EXPECT_EQ(sale.buy(1, user).outcome, Outcome::kAccepted);
      }
      ASSERT_TRUE((*running)->drain());
      ASSERT_TRUE(sale.close(1).ok());
      disk_->cut_power_after(operations);
      static_cast<void>(sale.archive(1));  // it may fail
      disk_->cut_power();
    }
    disk_->power_on(random_());
    auto running = open();
    ASSERT_TRUE(running.ok()) << running.status();
    expect_audit_passes((*running)->sale());
    Client& client = (*running)->client();
    if (!orders_->archived_vouchers()->empty()) {
      EXPECT_EQ(client("KEYS", "seckill:*:1"), Reply::array({}));
      EXPECT_EQ(client("SCARD", SaleKeys{}.vouchers()), Reply::integer(0));
      EXPECT_TRUE(orders_->list({})->empty());
    }
    EXPECT_EQ((*running)->sale().archive(1), absl::OkStatus());
  }

  void finish_and_check() {
    auto running = open();
    ASSERT_TRUE(running.ok()) << running.status();
    ASSERT_TRUE((*running)->drain());
    const auto report = (*running)->sale().audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    for (const VoucherAudit& voucher : report->vouchers) {
      EXPECT_EQ(voucher.created, voucher.admitted);
      EXPECT_LE(voucher.created, voucher.published);
      EXPECT_EQ(voucher.queued + voucher.dead, 0);
    }
  }

  /// Returns how many replies survived a cut. lost() counts the others.
  [[nodiscard]] int kept() const { return kept_; }
  [[nodiscard]] int lost() const { return lost_; }

 private:
  struct Answer {
    VoucherId voucher;
    std::int64_t user;
    std::string idempotency_key;
    bool safe;  // against a power cut
  };

  std::filesystem::path keyspace_dir() const { return directory_.path() / "keyspace"; }
  int pick(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  bool chance(int one_in) { return pick(one_in) == 0; }

  absl::StatusOr<std::unique_ptr<RunningSale>> open() {
    RocksDbStoreOptions options;
    options.durability = durability_;
    options.log_bytes_max = log_bytes_max_;
    options.env = disk_->env();
    auto store = RocksDbStore::open(keyspace_dir(), options);
    if (!store.ok()) return store.status();
    return RunningSale::open(*std::move(store), *orders_, clock_, {.batch_max = 5});
  }

  // ---- The sale ----

  void act(RunningSale& running) {
    const int what = pick(100);
    if (what < 4) {
      publish(running.sale());
    } else if (what < 70) {
      buy(running.sale());
    } else if (what < 92) {
      const OrderWorker::Step step = running.worker(chance(2) ? 0 : 1).step();
      if (step.stored > 0) everything_is_safe();  // the store has synced before
    } else if (what < 95) {
      if (!running.client().sync().is_error()) everything_is_safe();
    } else {
      running.engine().advance_ms(1 + pick(1'500));
    }
  }

  void publish(Sale& sale) {
    const VoucherId voucher = chance(2) ? 1 : 2;
    const std::int64_t stock = stocks_[voucher] + 1 + pick(15);
    if (sale.publish(voucher_on_sale(voucher, stock, voucher)).ok()) stocks_[voucher] = stock;
  }

  void buy(Sale& sale) {
    const VoucherId voucher = chance(2) ? 1 : 2;
    const std::int64_t user = 1 + pick(60);
    const std::string idempotency_key = "request " + std::to_string(++requests_);
    const BuyResult result = sale.buy(voucher, user, idempotency_key);
    if (result.outcome != Outcome::kAccepted) return;
    answers_[result.order] = {voucher, user, idempotency_key, durability_ == Durability::kSync};
  }

  void everything_is_safe() {
    for (auto& [order, answer] : answers_) answer.safe = true;
  }

  // ---- After a cut ----

  /// Expects that every order in the database is known to the keyspace.
  void expect_database_not_ahead(Client& client) {
    const auto orders = orders_->list({.count_max = 100'000});
    ASSERT_TRUE(orders.ok()) << orders.status();
    std::map<std::pair<VoucherId, UserId>, std::int64_t> stored;
    for (const Order& order : *orders) ++stored[{order.voucher, order.user}];
    const SaleKeys keys;
    for (const auto& [who, count] : stored) {
      const auto& [voucher, user] = who;
      if (voucher == 1) {
        EXPECT_EQ(client("SISMEMBER", keys.buyers(voucher), user.text()), Reply::integer(1))
            << user;
        EXPECT_EQ(count, 1) << "user " << user;
        continue;
      }
      const Reply admitted = client("HGET", keys.buyers(voucher), user.text());
      ASSERT_TRUE(admitted.is_text()) << "user " << user << " has orders and was never admitted";
      EXPECT_GE(std::stoll(std::string(admitted.text())), count) << "user " << user;
    }
  }

  /// Expects that synced orders exist and are still the replies to their requests. Forgets the
  /// others.
  void expect_safe_answers_kept(Sale& sale) {
    for (auto answer = answers_.begin(); answer != answers_.end();) {
      const auto& [order, asked] = *answer;
      const auto state = sale.status(order);
      ASSERT_TRUE(state.ok()) << state.status();
      if (state->location == OrderLocation::kUnknown) {
        EXPECT_FALSE(asked.safe) << "lost: order " << order;
        answer = answers_.erase(answer);
        ++lost_;
        continue;
      }
      EXPECT_NE(state->location, OrderLocation::kDeadLetter) << state->reason;
      const BuyResult again = sale.buy(asked.voucher, asked.user, asked.idempotency_key);
      EXPECT_EQ(again.outcome, Outcome::kAccepted);
      EXPECT_EQ(again.order, order);
      ++answer;
      ++kept_;
    }
  }

  const Durability durability_;
  std::mt19937_64 random_;
  TemporaryDirectory directory_;
  std::shared_ptr<faults::PowerCutFileSystem> disk_;
  std::size_t log_bytes_max_ = 0;
  ManualClock clock_;
  std::unique_ptr<SqliteOrderStore> orders_;
  std::map<VoucherId, std::int64_t> stocks_ = {{1, 5}, {2, 10}};
  std::map<OrderId, Answer> answers_;
  int requests_ = 0;
  int kept_ = 0;
  int lost_ = 0;
};

class SalePowerCutTest : public ::testing::TestWithParam<Durability> {};
INSTANTIATE_TEST_SUITE_P(Durabilities, SalePowerCutTest,
                         ::testing::Values(Durability::kOs, Durability::kEverySec,
                                           Durability::kSync),
                         [](const auto& durability) -> std::string {
                           if (durability.param == Durability::kOs) return "Os";
                           return durability.param == Durability::kSync ? "Sync" : "EverySec";
                         });

TEST_P(SalePowerCutTest, CutDuringArchivingIsMendedByOpen) {
  constexpr int kOperationsMax = 10;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int operations = 0; operations <= kOperationsMax; ++operations) {
    SCOPED_TRACE("after " + std::to_string(operations) + " operations");
    CutSale(GetParam(), random()).cut_while_archiving(operations);
  }
}

TEST_P(SalePowerCutTest, DatabaseIsNeverAheadOfDurableKeyspace) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  std::mt19937_64 random(seed);
  int cuts = 0;
  int kept = 0;
  int lost = 0;
  const int sales = testing::is_full_run() ? 24 : 10;
  for (int i = 0; i < sales && !HasFailure(); ++i) {
    CutSale sale(GetParam(), random());
    for (int cut = 0; cut < kCutsPerSale && !HasFailure(); ++cut) {
      SCOPED_TRACE("sale " + std::to_string(i) + ", cut " + std::to_string(cut));
      sale.sell_until_the_power_is_cut();
      sale.check();
      ++cuts;
    }
    if (!HasFailure()) sale.finish_and_check();
    kept += sale.kept();
    lost += sale.lost();
  }
  std::cout << cuts << " cuts; answers kept " << kept << ", lost " << lost << '\n';
  EXPECT_GT(kept, 0);
  if (GetParam() == Durability::kSync) {
    EXPECT_EQ(lost, 0);
  } else if (!HasFailure()) {
    EXPECT_GT(lost, 0) << "the power was never cut where it hurts";
  }
}

}  // namespace
}  // namespace rushgate
