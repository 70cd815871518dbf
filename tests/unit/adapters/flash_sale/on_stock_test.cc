// The free stock, reported to a function of the user.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "tests/support/redis_server/redis_server.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr VoucherId kTea = 8;
constexpr VoucherId kMilk = 9;

using Reports = std::vector<std::pair<VoucherId, std::int64_t>>;

Voucher tea(std::int64_t stock) { return {.id = kTea, .stock = stock, .limits = {.per_user = 0}}; }

/// Without threads, in manual time.
class OnStockTest : public ::testing::Test {
 protected:
  void open(FlashSaleOptions options = {}) {
    options.workers = 0;
    if (!options.on_stock) {
      options.on_stock = [this](VoucherId voucher, std::int64_t free) {
        reports_.emplace_back(voucher, free);
      };
    }
    auto engine =
        Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_}, {}).value();
    sale_ =
        FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), options).value();
  }
  /// Returns the reports of the next look.
  Reports next_look() {
    clock_.advance_ms(100);
    sale_->poll();
    return std::exchange(reports_, {});
  }

  ManualClock clock_;
  std::unique_ptr<FlashSale> sale_;
  Reports reports_;
};

TEST_F(OnStockTest, PresentStockIsReportedFirst) {
  open();
  EXPECT_THAT(next_look(), IsEmpty());
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  ASSERT_TRUE(sale_->publish({.id = kMilk, .stock = 5}).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3), Pair(kMilk, 5)));
  EXPECT_THAT(next_look(), IsEmpty()) << "nothing has changed";
}

TEST_F(OnStockTest, VoucherOnSeveralLanesIsReportedWhole) {
  FlashSaleOptions options;
  options.sale.lanes = 2;
  open(options);
  Voucher voucher = tea(5);
  voucher.lanes = 2;
  ASSERT_TRUE(sale_->publish(voucher).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 5)));
  const std::string stock = sale_->sale().lanes()[1].keys.stock(kTea);
  sale_->client()("DEL", stock);
  EXPECT_THAT(next_look(), IsEmpty()) << "not the half of the stock that is left";
  sale_->client()("SET", stock, 2);
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 5)));
}

TEST_F(OnStockTest, EachKindOfChangeIsReported) {
  open();
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  const OrderId order = sale_->buy(kTea, 1).order;
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 2)));
  ASSERT_TRUE(sale_->drain().ok());
  ASSERT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  ASSERT_TRUE(sale_->add_stock(kTea, 7).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 10)));
}

TEST_F(OnStockTest, LooksKeepInterval) {
  open({.on_stock_every_ms = 1'000});
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  sale_->buy(kTea, 1);
  EXPECT_THAT(next_look(), IsEmpty()) << "too early";
  sale_->buy(kTea, 2);
  clock_.advance_ms(900);
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 1))) << "of several changes the last";
}

TEST_F(OnStockTest, LostVoucherIsReportedAfterRebuild) {
  open();
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  sale_->client()("FLUSHALL");
  EXPECT_THAT(next_look(), IsEmpty());
  ASSERT_EQ(sale_->buy(kTea, 1).outcome, Outcome::kAccepted);
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 2)));
}

TEST_F(OnStockTest, FailedCallIsRepeatedAndLoggedOnce) {
  std::ostringstream log;
  int failures = 3;
  open({.on_stock =
            [&](VoucherId voucher, std::int64_t free) {
              if (voucher == kTea && failures-- > 0) throw std::runtime_error("the screen is off");
              reports_.emplace_back(voucher, free);
            },
        .logger = std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log))});
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  ASSERT_TRUE(sale_->publish({.id = kMilk, .stock = 5}).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kMilk, 5)));
  EXPECT_THAT(next_look(), IsEmpty());
  EXPECT_THAT(next_look(), IsEmpty());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  const std::string text = log.str();
  EXPECT_THAT(text, HasSubstr("on_stock failed for voucher 8: the screen is off"));
  EXPECT_EQ(text.find("on_stock"), text.rfind("on_stock"));
}

TEST_F(OnStockTest, FunctionMayUseSale) {
  open({.on_stock = [this](VoucherId voucher, std::int64_t free) {
    reports_.emplace_back(voucher, free);
    sale_->poll();
    if (free > 1) sale_->buy(voucher, free);
  }});
  ASSERT_TRUE(sale_->publish(tea(3)).ok());
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 3)));
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 2)));
  EXPECT_THAT(next_look(), ElementsAre(Pair(kTea, 1)));
}

TEST_F(OnStockTest, IntervalIsChecked) {
  FlashSaleOptions options;
  options.on_stock_every_ms = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(FlashSale::open("memory:", options).status()));
}

/// Waits for a stock on another thread.
class StockDisplay {
 public:
  void show(std::int64_t free) {
    const std::lock_guard lock(mutex_);
    shown_.push_back(free);
    changed_.notify_all();
  }
  void await(std::int64_t free) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !shown_.empty() && shown_.back() == free; });
  }
  std::vector<std::int64_t> shown() {
    const std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> shown_;
};

FlashSaleOptions shown_on(StockDisplay& display) {
  FlashSaleOptions options;
  options.on_stock = [&display](VoucherId /*voucher*/, std::int64_t free) { display.show(free); };
  options.on_stock_every_ms = 1;
  return options;
}

TEST(OnStockThreadTest, LastStockOfRushIsReported) {
  constexpr std::int64_t kStock = 900;
  StockDisplay display;
  const auto sale = FlashSale::open("memory:", shown_on(display)).value();
  ASSERT_TRUE(sale->publish(tea(kStock)).ok());
  std::vector<std::jthread> buyers;
  for (std::int64_t buyer = 1; buyer <= 3; ++buyer) {
    buyers.emplace_back([&sale, buyer] {
      for (std::int64_t i = 0; i < kStock / 3; ++i) sale->buy(kTea, buyer);
    });
  }
  buyers.clear();
  display.await(0);
  const std::vector<std::int64_t> shown = display.shown();
  EXPECT_TRUE(std::ranges::is_sorted(shown, std::ranges::greater()));
  EXPECT_EQ(std::ranges::adjacent_find(shown), shown.end()) << "only changes are reported";
}

TEST(OnStockThreadTest, OtherProcessIsSeen) {
  const testing::RedisServer server;
  MemoryOrderStore orders;
  const auto open_process = [&](const FlashSaleOptions& options) {
    return FlashSale::open(RedisBackend::open(*RedisOptions::from_url(server.url())).value(),
                           std::make_unique<faults::FaultyOrderStore>(orders), options)
        .value();
  };
  StockDisplay display;
  const auto seller = open_process({});
  const auto shop = open_process(shown_on(display));
  ASSERT_TRUE(seller->publish(tea(3)).ok());
  display.await(3);
  ASSERT_EQ(seller->buy(kTea, 1).outcome, Outcome::kAccepted);
  display.await(2);
  shop->stop_workers();
  seller->buy(kTea, 2);
  ASSERT_TRUE(shop->start_workers().ok());
  display.await(1);
}

}  // namespace
}  // namespace rushgate
