// Counts of stored orders, which are used again while counting takes long.
#include "adapters/flash_sale/order_counter.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/clock.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyOrderStore;

class OrderCounterTest : public ::testing::Test {
 protected:
  OrderCounterTest() {
    faulty_.before_every_read([this] { clock_.advance_ms(count_takes_ms_); });
  }

  void store(OrderId id, VoucherId voucher) {
    const Order order = {.id = id, .user = id, .voucher = voucher, .entry = {1, 0}};
    const DatabaseState state = orders_.state().value();
    const auto results = orders_.write(
        std::vector{order},
        {.epoch = state.epoch, .checkpoint = state.checkpoint, .stock = {{{voucher, 100}}}});
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->at(0).kind, OrderResult::Kind::kStored) << results->at(0).reason;
  }
  OrderCounter::Counted count(std::optional<VoucherId> voucher = {}) {
    const auto counted = counter_.count(voucher);
    EXPECT_TRUE(counted.ok()) << counted.status();
    return counted.value_or(OrderCounter::Counted{});
  }
  static std::int64_t sum(const OrderCounter::Counted& counted) {
    return std::accumulate(counted.by_status.begin(), counted.by_status.end(), std::int64_t{0});
  }

  std::int64_t count_takes_ms_ = 0;
  ManualClock clock_;
  MemoryOrderStore orders_;
  FaultyOrderStore faulty_{orders_};
  OrderCounter counter_{faulty_, clock_, {.share = 10, .quick_ms = 100}};
};

TEST_F(OrderCounterTest, QuickCountIsAlwaysFresh) {
  count_takes_ms_ = 99;
  for (OrderId id = 1; id <= 3; ++id) {
    store(id, 7);
    EXPECT_EQ(sum(count()), id);
  }
  EXPECT_EQ(sum(count(7)), 3);
  EXPECT_EQ(sum(count(8)), 0);
}

TEST_F(OrderCounterTest, SlowCountTakesTenthOfTime) {
  count_takes_ms_ = 2'000;
  store(1, 7);
  EXPECT_EQ(sum(count()), 1);
  store(2, 7);
  clock_.advance_ms(17'999);
  const auto old = count();
  EXPECT_EQ(sum(old), 1);
  EXPECT_EQ(old.age_ms, 19'999);
  clock_.advance_ms(1);
  EXPECT_EQ(sum(count()), 2);
}

TEST_F(OrderCounterTest, EachVoucherHasItsCount) {
  count_takes_ms_ = 2'000;
  store(1, 7);
  store(2, 8);
  EXPECT_EQ(sum(count()), 2);
  EXPECT_EQ(sum(count(7)), 1);
  count_takes_ms_ = 1;  // few orders are found by the voucher's index
  store(3, 8);
  EXPECT_EQ(sum(count(8)), 2);
  EXPECT_EQ(sum(count()), 2);
}

TEST_F(OrderCounterTest, CountSurvivesUnreadableDatabase) {
  count_takes_ms_ = 200;
  store(1, 7);
  EXPECT_EQ(sum(count()), 1);
  clock_.advance_ms(10'000);
  faulty_.fail_reads();
  const auto old = count();
  EXPECT_EQ(sum(old), 1);
  EXPECT_EQ(old.age_ms, 10'400);
  EXPECT_FALSE(counter_.count(7).ok());
}

TEST_F(OrderCounterTest, OthersDoNotWaitForCount) {
  count_takes_ms_ = 200;
  store(1, 7);
  EXPECT_EQ(sum(count()), 1);
  clock_.advance_ms(10'000);
  store(2, 7);
  std::int64_t seen = 0;
  faulty_.before_every_read([&] {
    if (seen == 0) seen = sum(count());
  });
  EXPECT_EQ(sum(count()), 2);
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace rushgate
