// Changes of orders, reported by FlashSaleOptions::on_state.
#include <atomic>
#include <cstdint>
#include <map>
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

#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kPrice = 250;

Voucher coffee_to_pay(std::int64_t stock) {
  return {.id = 7, .title = "Coffee", .stock = stock, .price_cents = kPrice, .payment_ms = 60'000};
}

/// The changes that a function got. Thread-safe.
class Reported {
 public:
  /// Returns a function for FlashSaleOptions::on_state.
  auto hook() {
    return [this](const OrderChange& change) { add(change); };
  }
  void add(const OrderChange& change) {
    EXPECT_FALSE(is_running_.exchange(true)) << "two threads run it";
    const std::lock_guard lock(mutex_);
    changes_.push_back(change);
    is_running_ = false;
  }
  [[nodiscard]] std::vector<OrderChange> all() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  /// Returns "<from>><to>" of every change of an order.
  [[nodiscard]] std::vector<std::string> states_of(OrderId order) const {
    std::vector<std::string> states;
    for (const OrderChange& change : all()) {
      if (change.order != order) continue;
      states.push_back(std::string(order_status_name(change.from)) + '>' +
                       std::string(order_status_name(change.to)));
    }
    return states;
  }
  [[nodiscard]] std::int64_t position() const {
    const auto changes = all();
    return changes.empty() ? 0 : changes.back().position;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<OrderChange> changes_;  // guarded by mutex_
  std::atomic<bool> is_running_ = false;
};

enum class StoreKind : std::uint8_t { kMemory, kSqlite };

class OnStateTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<FlashSale> open(const FlashSaleOptions& options) {
    const bool is_memory = GetParam() == StoreKind::kMemory;
    auto sale = FlashSale::open(is_memory ? "memory:" : directory(), options);
    EXPECT_TRUE(sale.ok()) << sale.status();
    EXPECT_TRUE((*sale)->publish(coffee_to_pay(1'000)).ok());
    return *std::move(sale);
  }
  [[nodiscard]] std::string directory() const { return (scratch_.path() / "sale").string(); }

  static OrderId buy(FlashSale& sale, std::int64_t user) {
    const BuyResult bought = sale.buy(7, user);
    EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    return bought.order;
  }
  static OrderId pay(FlashSale& sale, std::int64_t user) {
    const OrderId order = buy(sale, user);
    const ChangeResult paid =
        sale.pay({.order = order, .payment = "p" + std::to_string(user), .amount_cents = kPrice});
    EXPECT_EQ(paid.outcome, ChangeOutcome::kDone) << paid.detail;
    return order;
  }
  static void drain(FlashSale& sale) {
    const absl::Status drained = sale.drain();
    EXPECT_TRUE(drained.ok()) << drained;
  }
  /// Expects each recorded change exactly once and in order.
  static void expect_all(FlashSale& sale, const Reported& reported) {
    EXPECT_EQ(reported.all(), sale.sale().changes(0, 100'000).value());
  }

  Reported reported_;

 private:
  const TemporaryDirectory scratch_;
};

TEST_P(OnStateTest, ChangesAreReportedInOrder) {
  for (const int workers : {0, 1, 3}) {
    Reported reported;
    const auto sale = open({.workers = workers, .on_state = reported.hook()});
    const std::int64_t user = 10 * workers;
    const OrderId used = pay(*sale, user + 1);
    const OrderId cancelled = buy(*sale, user + 2);
    EXPECT_EQ(sale->cancel(cancelled, "no").outcome, ChangeOutcome::kDone);
    drain(*sale);
    EXPECT_EQ(sale->use(used).outcome, ChangeOutcome::kDone);
    EXPECT_EQ(sale->refund(used, "broken").outcome, ChangeOutcome::kDone);
    drain(*sale);

    EXPECT_THAT(reported.states_of(cancelled), ElementsAre("unpaid>cancelled"));
    EXPECT_THAT(reported.states_of(used),
                ElementsAre("unpaid>paid", "paid>used", "used>refunding", "refunding>refunded"));
    expect_all(*sale, reported);
  }
}

TEST_P(OnStateTest, SeveralWorkersSkipNoChange) {
  constexpr int kThreads = 3;
  constexpr int kEach = 60;
  const auto sale = open({.workers = 3, .on_state = reported_.hook()});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) pay(*sale, thread * kEach + i + 1);
    });
  }
  threads.clear();
  drain(*sale);
  EXPECT_EQ(reported_.all().size(), static_cast<std::size_t>(kThreads * kEach));
  expect_all(*sale, reported_);
}

TEST_P(OnStateTest, FailedCallIsRepeated) {
  std::atomic<int> failures = 3;
  FlashSaleOptions options{.workers = 2};
  options.worker.retry_after_ms = 1;
  options.on_state = [&](const OrderChange& change) {
    if (change.position == 2 && failures.fetch_sub(1) > 0) throw std::runtime_error("not now");
    reported_.add(change);
  };
  const auto sale = open(options);
  for (const std::int64_t user : {1, 2, 3}) pay(*sale, user);
  drain(*sale);
  EXPECT_LE(failures, 0);
  expect_all(*sale, reported_);
}

TEST_P(OnStateTest, HookMayChangeOrders) {
  FlashSale* shop = nullptr;
  FlashSaleOptions options{.workers = 0};
  options.on_state = [&](const OrderChange& change) {
    reported_.add(change);
    if (change.to == OrderStatus::kPaid) shop->use(change.order, "printer");
  };
  const auto sale = open(options);
  shop = sale.get();
  const OrderId order = pay(*sale, 1);
  drain(*sale);
  EXPECT_THAT(reported_.states_of(order), ElementsAre("unpaid>paid", "paid>used"));
}

INSTANTIATE_TEST_SUITE_P(Stores, OnStateTest,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kSqlite),
                         [](const auto& store) {
                           return store.param == StoreKind::kMemory ? "Memory" : "Sqlite";
                         });

// ---- Resuming ----

class OnStateResumeTest : public OnStateTest {};
INSTANTIATE_TEST_SUITE_P(Stores, OnStateResumeTest, ::testing::Values(StoreKind::kSqlite),
                         [](const auto& /*info*/) { return "Sqlite"; });

TEST_P(OnStateResumeTest, ReopenedSaleResumes) {
  for (std::int64_t user = 1; user <= 5; ++user) {
    const auto sale = open({.on_state = reported_.hook(), .on_state_after = reported_.position()});
    pay(*sale, user);
    drain(*sale);
    pay(*sale, 100 + user);  // it may be reported by this process or the next one
  }
  const auto sale = open({.on_state = reported_.hook(), .on_state_after = reported_.position()});
  drain(*sale);
  EXPECT_EQ(reported_.all().size(), 10U);
  expect_all(*sale, reported_);
}

TEST_P(OnStateResumeTest, EarlierPositionIsReportedAgain) {
  {
    const auto sale = open({.workers = 0});
    for (const std::int64_t user : {1, 2, 3}) pay(*sale, user);
    drain(*sale);
  }
  const auto sale = open({.workers = 0, .on_state = reported_.hook(), .on_state_after = 1});
  EXPECT_TRUE(reported_.all().empty());
  drain(*sale);
  EXPECT_EQ(reported_.all(), sale->sale().changes(1).value());
  EXPECT_EQ(reported_.all().size(), 2U);
}

TEST_P(OnStateResumeTest, ForeignPositionIsRefused) {
  const auto refusal = [&](std::int64_t after) {
    return FlashSale::open(directory(),
                           {.on_state = [](const OrderChange&) {}, .on_state_after = after})
        .status();
  };
  EXPECT_EQ(refusal(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refusal(1).message()), HasSubstr("on_state_after is 1"));
  EXPECT_EQ(refusal(-1).code(), absl::StatusCode::kInvalidArgument);
}

// ---- With a manual clock ----

/// The reports pause by the sale's clock, and orders are stored meanwhile.
TEST(OnStatePauseTest, OrdersAreStoredMeanwhile) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  Reported reported;
  bool fails = true;
  FlashSaleOptions options{.workers = 0};
  options.on_state = [&](const OrderChange& change) {
    if (fails) throw std::runtime_error("the printer is empty");
    reported.add(change);
  };
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), options).value();
  ASSERT_TRUE(sale->publish(coffee_to_pay(10)).ok());
  const OrderId order = sale->buy(7, 1).order;
  sale->pay({.order = order, .payment = "p1", .amount_cents = kPrice});

  EXPECT_THAT(std::string(sale->drain().message()), HasSubstr("the printer is empty"));
  EXPECT_EQ(sale->status(order)->order->status, OrderStatus::kPaid);
  fails = false;
  EXPECT_FALSE(sale->drain().ok()) << "it still pauses";
  manual.advance_ms(WorkerOptions{}.retry_after_ms);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_THAT(reported.states_of(order), ElementsAre("unpaid>paid"));
}

TEST(OnStatePauseTest, RepeatedExceptionIsLoggedOnce) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  std::ostringstream log;
  FlashSaleOptions options{.workers = 0};
  int calls = 0;
  options.on_state = [&](const OrderChange&) {
    ++calls;
    throw std::runtime_error("the printer is empty");
  };
  options.logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), options).value();
  ASSERT_TRUE(sale->publish(coffee_to_pay(10)).ok());
  sale->pay({.order = sale->buy(7, 1).order, .payment = "p1", .amount_cents = kPrice});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(sale->drain().ok());
    manual.advance_ms(options.worker.pause_ms_max);
  }
  EXPECT_EQ(calls, 3);
  const std::string logged = log.str();
  EXPECT_THAT(logged, HasSubstr("the printer is empty"));
  EXPECT_EQ(logged.find("the printer is empty"), logged.rfind("the printer is empty")) << logged;
}

TEST(OnStatePauseTest, TimeoutIsReported) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  Reported reported;
  const auto sale = FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(),
                                    {.workers = 0, .on_state = reported.hook()})
                        .value();
  ASSERT_TRUE(sale->publish(coffee_to_pay(10)).ok());
  const OrderId order = sale->buy(7, 1).order;
  EXPECT_TRUE(sale->drain().ok());
  manual.advance_ms(60'000);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_THAT(reported.states_of(order), ElementsAre("unpaid>cancelled"));
  EXPECT_EQ(reported.all().front().actor, "timeout");
}

}  // namespace
}  // namespace rushgate
