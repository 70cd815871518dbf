// A game that grants an item for each paid order is killed repeatedly, at points and moments chosen
// by a seed. Each paid order has exactly one item.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/crash/granting_process.h"
#include "tests/project/orders/item_grants.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using GrantingPoint = GrantingProcess::Point;
using GrantingEnd = GrantingProcess::End;

constexpr GrantingPoint kPoints[] = {GrantingPoint::kBeforeGrant, GrantingPoint::kAfterGrant,
                                     GrantingPoint::kMoment, GrantingPoint::kAfterPurchase,
                                     GrantingPoint::kAfterPayment};
constexpr int kKillsPerSale = 6;
constexpr std::size_t kPointCount = std::size(kPoints);

int granting_kills() {
  constexpr int kKills = 30;
  const char* chosen = std::getenv("RUSHGATE_KILLS");
  return chosen == nullptr ? kKills : std::atoi(chosen);
}

/// One sale from start to end, across as many processes as needed.
class KilledGame {
 public:
  explicit KilledGame(std::uint64_t seed) : random_(seed), seed_(seed) {}

  /// Kills processes until one of them completes, or `kills_max` is reached. The first is killed at
  /// the first occurrence of `first`. Returns the number of kills.
  int run(GrantingPoint first, int kills_max) {
    int kills = 0;
    while (true) {
      GrantingProcess process{.dir = scratch_.path(), .seed = seed_};
      if (kills < kills_max) choose_crash(process);
      if (kills == 0) {
        process.point = first;
        process.nth = 1;
      }
      const GrantingEnd end = process.run();
      EXPECT_NE(end, GrantingEnd::kFailed) << process.describe();
      if (end != GrantingEnd::kKilled) return kills;
      ++kills;
    }
  }

  void check() {
    const auto sale = FlashSale::open((scratch_.path() / "sale").string(), {.workers = 0}).value();
    ItemGrants items((scratch_.path() / "items.db").string());
    std::int64_t paid = 0;
    std::int64_t orders = 0;
    const absl::Status read = for_each_order(sale->orders(), {}, [&](const Order& order) {
      ++orders;
      const bool is_paid = order.status == OrderStatus::kPaid;
      paid += is_paid ? 1 : 0;
      EXPECT_EQ(items.count(order.id), is_paid ? 1 : 0) << order_status_name(order.status);
    });
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_EQ(orders, static_cast<std::int64_t>(kGrantingRows));
    EXPECT_EQ(paid, paying_rows());
    EXPECT_EQ(items.count(), paid);
    const auto audit = sale->audit();
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(audit->passed()) << *audit;
  }

 private:
  void choose_crash(GrantingProcess& process) {
    constexpr std::uint64_t kNthMax = 15;
    constexpr std::uint64_t kMomentMsMax = 250;
    process.point = kPoints[random_() % kPointCount];
    process.nth = 1 + static_cast<int>(random_() % kNthMax);
    process.moment_ms = static_cast<int>(random_() % kMomentMsMax);
  }

  [[nodiscard]] std::int64_t paying_rows() const {
    std::int64_t paying = 0;
    for (std::size_t row = 0; row < kGrantingRows; ++row) {
      paying += granting_fate(seed_, row) == GrantingFate::kPays ? 1 : 0;
    }
    return paying;
  }

  const TemporaryDirectory scratch_;
  std::mt19937_64 random_;
  const std::uint64_t seed_;
};

TEST(GrantingTest, KillsGrantEachPaidOrderOnce) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::cout << seed_text(seed) << '\n';
  std::mt19937_64 random(seed);
  int kills = 0;
  std::size_t sales = 0;
  // Each point is the first kill of some sale.
  while ((kills < granting_kills() || sales < kPointCount) && !HasFailure()) {
    KilledGame game(random());
    kills += game.run(kPoints[sales % kPointCount], kKillsPerSale);
    if (!HasFailure()) game.check();
    ++sales;
  }
  std::cout << kills << " kills in " << sales << " sales\n";
}

}  // namespace
}  // namespace rushgate
