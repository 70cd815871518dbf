// FlashSale with lanes: its workers, feeds and figures are of all lanes.
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/order_rules.h>
#include <rushgate/sale_statistics.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

constexpr int kFourLanes = 4;

FlashSaleOptions with_lanes(int lanes, int workers) {
  FlashSaleOptions options;
  options.sale.lanes = lanes;
  options.workers = workers;
  return options;
}

void publish_one_on_each(FlashSale& sale) {
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    ASSERT_TRUE(sale.publish({.id = id, .stock = 5}).ok());
  }
}

class FlashSaleLanesTest : public ::testing::Test {
 protected:
  void open(FlashSaleOptions options) {
    auto engine =
        Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_}, {}).value();
    sale_ = FlashSale::open(std::move(engine), std::make_unique<ForwardedOrders>(orders_), options)
                .value();
  }

  /// The orders outlive a sale.
  using ForwardedOrders = faults::FaultyOrderStore;

  ManualClock clock_;
  MemoryOrderStore orders_;
  std::unique_ptr<FlashSale> sale_;
};

TEST_F(FlashSaleLanesTest, WorkersStoreOrdersOfAllLanes) {
  const auto sale = FlashSale::open("memory:", with_lanes(kFourLanes, 2)).value();
  publish_one_on_each(*sale);
  std::vector<OrderId> bought;
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    bought.push_back(sale->buy(id, 1).order);
  }
  ASSERT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->stored(), kFourLanes);
  for (const OrderId order : bought) {
    EXPECT_EQ(sale->status(order).value().location, OrderLocation::kStored);
  }
  EXPECT_TRUE(sale->audit().value().passed());
  EXPECT_EQ(sale->statistics().workers.running, 2 * kFourLanes);
}

TEST_F(FlashSaleLanesTest, DrainWithoutThreadsStoresAllLanes) {
  std::set<OrderId> changed;
  FlashSaleOptions options = with_lanes(kFourLanes, 0);
  options.on_state = [&](const OrderChange& change) { changed.insert(change.order); };
  open(std::move(options));
  std::set<OrderId> paid;
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    ASSERT_TRUE(
        sale_->publish({.id = id, .stock = 5, .price_cents = 10, .payment_ms = 60'000}).ok());
    const OrderId order = sale_->buy(id, 1).order;
    EXPECT_EQ(lane_of_order(order), id - kFourLanes);
    paid.insert(order);
    EXPECT_EQ(
        sale_->pay({.order = order, .payment = std::to_string(id), .amount_cents = 10}).outcome,
        ChangeOutcome::kDone);
  }
  ASSERT_TRUE(sale_->drain().ok());
  EXPECT_EQ(changed, paid);
}

TEST_F(FlashSaleLanesTest, SomeLanesAreWorked) {
  FlashSaleOptions options = with_lanes(kFourLanes, 0);
  options.work_lanes = {1, 3};
  open(std::move(options));
  publish_one_on_each(*sale_);
  std::map<int, OrderId> bought;
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    const OrderId order = sale_->buy(id, 1).order;
    bought[lane_of_order(order)] = order;
  }
  EXPECT_TRUE(absl::IsUnavailable(sale_->drain())) << "nobody stores the others";
  const auto location = [&](int lane) { return sale_->status(bought.at(lane)).value().location; };
  EXPECT_EQ(location(0), OrderLocation::kQueued);
  EXPECT_EQ(location(1), OrderLocation::kStored);
  EXPECT_EQ(location(2), OrderLocation::kQueued);
  EXPECT_EQ(location(3), OrderLocation::kStored);
}

TEST_F(FlashSaleLanesTest, MissingLaneIsRefused) {
  FlashSaleOptions options = with_lanes(2, 0);
  options.work_lanes = {2};
  const auto sale = FlashSale::open("memory:", options);
  ASSERT_TRUE(absl::IsInvalidArgument(sale.status())) << sale.status();
  EXPECT_THAT(std::string(sale.status().message()), HasSubstr("no lane 2"));
}

TEST_F(FlashSaleLanesTest, StockOfAllLanesIsReported) {
  std::map<VoucherId, std::int64_t> reported;
  FlashSaleOptions options = with_lanes(kFourLanes, 0);
  options.on_stock = [&](VoucherId voucher, std::int64_t free) { reported[voucher] = free; };
  open(std::move(options));
  publish_one_on_each(*sale_);
  sale_->buy(6, 1);
  clock_.advance_ms(100);
  sale_->poll();
  EXPECT_EQ(reported, (std::map<VoucherId, std::int64_t>{{4, 5}, {5, 5}, {6, 4}, {7, 5}}));
}

TEST_F(FlashSaleLanesTest, StatisticsCountAllLanes) {
  open(with_lanes(kFourLanes, 0));
  publish_one_on_each(*sale_);
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) sale_->buy(id, 1);
  const SaleStatistics statistics = sale_->statistics();
  EXPECT_EQ(statistics.queue.value().waiting, kFourLanes);
  EXPECT_EQ(statistics.dead_letters, 0);
  EXPECT_EQ(statistics.vouchers.size(), kFourLanes);
  EXPECT_EQ(statistics.purchases.vouchers.size(), kFourLanes);
}

TEST_F(FlashSaleLanesTest, SubmittedRequestsReachTheirLanes) {
  open(with_lanes(kFourLanes, 0));
  publish_one_on_each(*sale_);
  std::vector<OrderId> bought;
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    EXPECT_TRUE(sale_->submit_buy({.voucher = id, .user = 1}, [&](const BuyResult& result) {
      bought.push_back(result.order);
    }));
  }
  sale_->poll();
  ASSERT_EQ(bought.size(), kFourLanes);
  for (int lane = 0; lane < kFourLanes; ++lane) {
    EXPECT_EQ(lane_of_order(bought.at(static_cast<std::size_t>(lane))), lane);
  }
}

TEST_F(FlashSaleLanesTest, DirectoryKeepsItsLanes) {
  const TemporaryDirectory directory;
  const std::string place = (directory.path() / "sale").string();
  OrderId order = 0;
  {
    const auto sale = FlashSale::open(place, with_lanes(kFourLanes, 1)).value();
    publish_one_on_each(*sale);
    order = sale->buy(7, 1).order;
    ASSERT_TRUE(sale->drain().ok());
  }
  const auto sale = FlashSale::open(place).value();
  EXPECT_EQ(sale->sale().lanes().size(), kFourLanes);
  EXPECT_EQ(sale->status(order).value().location, OrderLocation::kStored);
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kLimitReached);
  EXPECT_TRUE(sale->audit().value().passed());
}

TEST_F(FlashSaleLanesTest, ProcessesOnRedisShareLanes) {
  const testing::RedisServer server;
  const TemporaryDirectory directory;
  const auto open = [&](std::vector<int> work_lanes) {
    FlashSaleOptions options = with_lanes(kFourLanes, 1);
    options.work_lanes = std::move(work_lanes);
    options.orders = "sqlite:" + (directory.path() / "orders.db").string();
    auto sale = FlashSale::open(server.url(), options);
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  };
  const auto first = open({0, 1});
  const auto second = open({2, 3});
  publish_one_on_each(*first);
  std::set<OrderId> bought;
  for (VoucherId id = kFourLanes; id < 2 * kFourLanes; ++id) {
    bought.insert(first->buy(id, 1).order);
    bought.insert(second->buy(id, 2).order);
  }
  EXPECT_EQ(bought.size(), 2 * kFourLanes);
  ASSERT_TRUE(first->drain().ok());
  ASSERT_TRUE(second->drain().ok());  // each counts what its own workers have stored
  EXPECT_EQ(first->stored() + second->stored(), 2 * kFourLanes);
  EXPECT_TRUE(second->audit().value().passed());
}

}  // namespace
}  // namespace rushgate
