// Submitted requests, completed by poll().
#include <atomic>
#include <condition_variable>
#include <latch>
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

#include "tests/support/barrier.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Voucher plain_coffee(std::int64_t stock) {
  return {.id = 7, .title = "Coffee", .stock = stock, .end_ms = std::int64_t{1} << 42};
}

std::unique_ptr<FlashSale> sale_with(std::int64_t stock, const FlashSaleOptions& options = {}) {
  auto sale = FlashSale::open("memory:", options).value();
  EXPECT_TRUE(sale->publish(plain_coffee(stock)).ok());
  return sale;
}

void ignore(const BuyResult& /*result*/) {}

/// Runs no threads, so that each call has one result.
const FlashSaleOptions kNoThreads = {.workers = 0};

TEST(SubmitBuyTest, CompletionsRunInPoll) {
  const auto sale = sale_with(2);
  std::vector<Outcome> outcomes;
  for (const std::int64_t user : {1, 2, 3, 1}) {
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = user}, [&](const BuyResult& result) {
      outcomes.push_back(result.outcome);  // no lock: runs on this thread
    }));
  }
  while (outcomes.size() < 4) sale->poll();
  EXPECT_THAT(outcomes, ElementsAre(Outcome::kAccepted, Outcome::kAccepted, Outcome::kSoldOut,
                                    Outcome::kSoldOut));
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->stored(), 2U);
}

TEST(SubmitBuyTest, PollKeepsBudget) {
  const auto sale = sale_with(10, kNoThreads);
  std::vector<UserId> completed;
  for (const std::int64_t user : {1, 2, 3, 4, 5}) {
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = user},
                                 [&, user](const BuyResult&) { completed.emplace_back(user); }));
  }
  EXPECT_TRUE(completed.empty());
  EXPECT_EQ(sale->poll(2), 2U);
  EXPECT_EQ(sale->poll(0), 0U);
  EXPECT_THAT(completed, ElementsAre(1, 2));
  EXPECT_EQ(sale->poll(), 3U);
  EXPECT_THAT(completed, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(sale->poll(), 0U);
}

TEST(SubmitBuyTest, FullQueueRefusesPurchase) {
  const auto sale = sale_with(10, {.workers = 0, .submitted_max = 2});
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1}, ignore));
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 2}, ignore));
  EXPECT_FALSE(sale->submit_buy({.voucher = 7, .user = 3}, ignore));
  EXPECT_EQ(sale->poll(1), 1U);
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 3}, ignore));
  EXPECT_FALSE(sale->submit_buy({.voucher = 7, .user = 4}, ignore)) << "decided but not completed";
}

TEST(SubmitBuyTest, CompletionMaySubmit) {
  const auto sale = sale_with(10, kNoThreads);
  Outcome second = Outcome::kFailed;
  std::size_t inner = 1;
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1}, [&](const BuyResult&) {
    inner = sale->poll();
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1},
                                 [&](const BuyResult& result) { second = result.outcome; }));
  }));
  EXPECT_EQ(sale->poll(), 1U);
  EXPECT_EQ(inner, 0U) << "a nested poll() completes nothing";
  EXPECT_EQ(sale->poll(), 1U);
  EXPECT_EQ(second, Outcome::kLimitReached);
}

/// A manual engine decides on the thread that calls poll().
TEST(SubmitBuyTest, SaleWithoutThreadsNeedsNoClock) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), kNoThreads).value();
  EXPECT_TRUE(sale->publish(plain_coffee(10)).ok());
  OrderId order = 0;
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1, .idempotency_key = "click"},
                               [&](const BuyResult& result) { order = result.order; }));
  EXPECT_EQ(sale->poll(), 1U);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->status(order)->location, OrderLocation::kStored);
}

TEST(SubmitBuyTest, DrainDecidesFirst) {
  for (const int workers : {0, 1}) {
    const auto sale = sale_with(10, {.workers = workers});
    for (std::int64_t user = 1; user <= 10; ++user) {
      EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = user}, ignore));
    }
    EXPECT_TRUE(sale->drain().ok());
    EXPECT_EQ(sale->orders().count_live(7).value(), 10);
    EXPECT_EQ(sale->poll(), 10U);
  }
}

TEST(SubmitBuyTest, EndDropsCompletions) {
  auto alive = std::make_shared<int>(0);
  {
    const auto sale = sale_with(10);
    EXPECT_TRUE(
        sale->submit_buy({.voucher = 7, .user = 1}, [alive](const BuyResult&) { ++*alive; }));
  }
  EXPECT_EQ(*alive, 0);
  EXPECT_EQ(alive.use_count(), 1);
}

/// Neither call waits for the commit, which this thread lets continue afterwards.
TEST(SubmitBuyTest, BlockedStoreBlocksNoCall) {
  auto store = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
  std::latch is_blocked(1);
  std::latch may_go_on(1);
  std::atomic<bool> blocks = false;
  store->at_every_point([&](faults::FaultyStore::Point point) {
    if (point != faults::FaultyStore::Point::kBeforeCommit || !blocks.exchange(false)) return;
    is_blocked.count_down();
    may_go_on.wait();
  });
  const auto sale = FlashSale::open(Engine::open(std::move(store)).value(),
                                    std::make_unique<MemoryOrderStore>(), {.start_workers = false})
                        .value();
  EXPECT_TRUE(sale->publish(plain_coffee(1'000)).ok());
  blocks = true;
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1}, ignore));
  is_blocked.wait();
  for (std::int64_t user = 2; user <= 1'000; ++user) {
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = user}, ignore));
  }
  EXPECT_EQ(sale->poll(), 0U);
  may_go_on.count_down();
  for (std::size_t completed = 0; completed < 1'000;) completed += sale->poll();
}

TEST(SubmitBuyTest, RepetitionsDelayNoPurchase) {
  testing::Barrier barrier;
  auto orders = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  orders->before_every_read([&] { barrier.pass(); });
  const auto sale =
      FlashSale::open(open_backend("memory:").value(), std::move(orders), {.start_workers = false})
          .value();
  EXPECT_TRUE(sale->publish(plain_coffee(10)).ok());
  std::vector<BuyResult> results;
  const auto submit = [&](std::int64_t user) {
    EXPECT_TRUE(
        sale->submit_buy({.voucher = 7, .user = user, .idempotency_key = std::to_string(user)},
                         [&](const BuyResult& result) { results.push_back(result); }));
  };
  const auto poll_until = [&](std::size_t count) {
    while (results.size() < count) sale->poll();
  };
  submit(1);
  poll_until(1);
  EXPECT_TRUE(sale->drain().ok());
  barrier.close();
  submit(1);
  barrier.await(1);
  for (const std::int64_t user : {1, 2, 3}) submit(user);
  poll_until(3);
  EXPECT_NE(results[1].order, results[0].order);
  EXPECT_NE(results[2].order, results[0].order);
  barrier.open();
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->poll(), 2U);
  for (const std::size_t repetition : {3U, 4U}) {
    EXPECT_EQ(results[repetition].order, results[0].order);
    EXPECT_EQ(results[repetition].status, OrderStatus::kCreated);
  }
}

TEST(SubmitBuyTest, ThreadsSubmitAndPollTogether) {
  constexpr std::int64_t kEach = 500;
  constexpr int kThreads = 4;
  const auto sale = sale_with(kEach * kThreads, {.submitted_max = 64});
  std::atomic<std::int64_t> accepted = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::int64_t i = 0; i < kEach; ++i) {
        const std::int64_t user = thread * kEach + i + 1;
        const auto count = [&](const BuyResult& result) {
          accepted += result.outcome == Outcome::kAccepted ? 1 : 0;
        };
        while (!sale->submit_buy({.voucher = 7, .user = user}, count)) sale->poll();
      }
    });
  }
  threads.clear();
  while (accepted < kEach * kThreads) sale->poll();
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_TRUE(sale->audit()->passed());
}

// ---- Payments and cancellations ----

Voucher paid_coffee() {
  Voucher voucher = plain_coffee(10);
  voucher.price_cents = 250;
  voucher.payment_ms = 60'000;
  return voucher;
}

/// A completion that appends the name of its outcome.
auto note_in(std::vector<std::string>& outcomes) {
  return [&outcomes](const ChangeResult& result) {
    outcomes.emplace_back(change_outcome_name(result.outcome));
  };
}

TEST(SubmitPayTest, RequestsAreDecidedInOrder) {
  for (const int workers : {0, 1}) {
    const auto sale = sale_with(10, {.workers = workers});
    ASSERT_TRUE(sale->publish(paid_coffee()).ok());
    const OrderId first = sale->buy(7, 1).order;
    const OrderId second = sale->buy({.voucher = 7, .user = 2}).order;
    std::vector<std::string> outcomes;
    const auto pay = [&](OrderId order, const std::string& payment) {
      EXPECT_TRUE(sale->submit_pay({.order = order, .payment = payment, .amount_cents = 250},
                                   note_in(outcomes)));
    };
    pay(first, "p1");
    EXPECT_TRUE(sale->submit_cancel(first, "changed my mind", "user", note_in(outcomes)));
    EXPECT_TRUE(sale->submit_cancel(second, "changed my mind", "user", note_in(outcomes)));
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 2}, [&](const BuyResult& result) {
      outcomes.emplace_back(outcome_name(result.outcome));
    }));
    pay(second, "p2");
    pay(first, "p1");
    while (outcomes.size() < 6) sale->poll();
    EXPECT_THAT(outcomes, ElementsAre("done", "too late", "done", "accepted", "too late", "done"));
    EXPECT_TRUE(sale->drain().ok());
    EXPECT_TRUE(sale->audit()->passed());
  }
}

TEST(SubmitPayTest, QueueHasOneBound) {
  const auto sale = sale_with(10, {.workers = 0, .submitted_max = 2});
  const auto ignore_change = [](const ChangeResult&) {};
  EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1}, ignore));
  EXPECT_TRUE(sale->submit_cancel(1, "no", "user", ignore_change));
  EXPECT_FALSE(sale->submit_pay({.order = 1, .payment = "p", .amount_cents = 1}, ignore_change));
  EXPECT_EQ(sale->poll(1), 1U);
  EXPECT_TRUE(sale->submit_pay({.order = 1, .payment = "p", .amount_cents = 1}, ignore_change));
  EXPECT_FALSE(sale->submit_buy({.voucher = 7, .user = 2}, ignore));
  EXPECT_EQ(sale->poll(), 2U);
}

TEST(SubmitPayTest, ThreadsSubmitAllKindsTogether) {
  constexpr std::int64_t kEach = 200;
  constexpr int kThreads = 3;
  const auto sale = sale_with(10);
  Voucher voucher = paid_coffee();
  voucher.stock = kEach * kThreads;
  ASSERT_TRUE(sale->publish(voucher).ok());
  std::atomic<std::int64_t> changed = 0;
  const auto count = [&](const ChangeResult& result) {
    EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
    ++changed;
  };
  // Odd users pay, even users cancel.
  const auto finish = [&](OrderId order, std::int64_t user) {
    const bool is_submitted =
        user % 2 == 0
            ? sale->submit_cancel(order, "no", "user", count)
            : sale->submit_pay(
                  {.order = order, .payment = "p" + std::to_string(user), .amount_cents = 250},
                  count);
    EXPECT_TRUE(is_submitted);
  };
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::int64_t i = 0; i < kEach; ++i) {
        const std::int64_t user = thread * kEach + i + 1;
        const auto complete = [&, user](const BuyResult& result) { finish(result.order, user); };
        EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = user}, complete));
        sale->poll();
      }
    });
  }
  while (changed < kEach * kThreads) sale->poll();
  threads.clear();
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->audit()->money.kept, 250 * kEach * kThreads / 2);
  EXPECT_TRUE(sale->audit()->passed());
}

TEST(SubmitChangeTest, EveryChangeIsDecidedInOrder) {
  for (const int workers : {0, 1}) {
    const auto sale = FlashSale::open("memory:", {.workers = workers}).value();
    std::vector<std::string> results;
    const auto note = [&](const absl::Status& result) {
      results.emplace_back(absl::StatusCodeToString(result.code()));
    };
    OrderId order = 0;
    EXPECT_TRUE(sale->submit_add_stock(7, 5, note)) << "not on sale yet";
    EXPECT_TRUE(sale->submit_publish(paid_coffee(), note));
    EXPECT_TRUE(sale->submit_buy({.voucher = 7, .user = 1}, [&](const BuyResult& result) {
      results.emplace_back(outcome_name(result.outcome));
      order = result.order;
    }));
    EXPECT_TRUE(sale->submit_add_stock(7, 5, note));
    while (results.size() < 4) sale->poll();
    EXPECT_EQ(sale->voucher(7)->value().voucher.stock, paid_coffee().stock + 5);
    EXPECT_EQ(sale->pay({.order = order, .payment = "p", .amount_cents = 250}).outcome,
              ChangeOutcome::kDone);
    EXPECT_TRUE(sale->drain().ok());
    EXPECT_TRUE(sale->submit_use(order, "door", note_in(results)));
    EXPECT_TRUE(sale->submit_refund(order, "broken", "desk", note_in(results)));
    EXPECT_TRUE(sale->submit_use(order, "door", note_in(results)));
    while (results.size() < 7) sale->poll();
    EXPECT_THAT(results,
                ElementsAre("NOT_FOUND", "OK", "accepted", "OK", "done", "done", "too late"));
    EXPECT_TRUE(sale->audit()->passed());
  }
}

/// The calls before and after it have results of their own.
TEST(SubmitChangeTest, ThrowingStoreFailsOneCall) {
  auto orders = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  faults::FaultyOrderStore& store = *orders;
  const auto sale = FlashSale::open(Engine::open(std::make_unique<MemoryStore>()).value(),
                                    std::move(orders), kNoThreads)
                        .value();
  ASSERT_TRUE(sale->publish(plain_coffee(3)).ok());
  std::vector<OrderId> bought;
  for (std::int64_t user = 1; user <= 3; ++user) bought.push_back(sale->buy(7, user).order);
  ASSERT_TRUE(sale->drain().ok());
  store.poison([&](const Order& order) { return order.id == bought[1]; },
               faults::FaultyOrderStore::Poison::kThrows);
  std::vector<std::string> outcomes;
  for (const OrderId order : bought) {
    EXPECT_TRUE(sale->submit_refund(order, "broken", "desk", note_in(outcomes)));
  }
  EXPECT_EQ(sale->poll(), 3U);
  EXPECT_THAT(outcomes, ElementsAre("done", "outcome unknown", "done"));
}

// ---- on_stored ----

TEST(OnStoredTest, EachStoredOrderIsNamed) {
  std::mutex mutex;
  std::vector<OrderId> stored;
  FlashSaleOptions options;
  options.worker.on_stored = [&](std::span<const OrderId> orders) {
    const std::lock_guard lock(mutex);
    stored.insert(stored.end(), orders.begin(), orders.end());
  };
  const auto sale = sale_with(10, options);
  std::vector<OrderId> accepted;
  for (const std::int64_t user : {1, 2, 3}) accepted.push_back(sale->buy(7, user).order);
  EXPECT_EQ(sale->buy(7, 3).outcome, Outcome::kLimitReached);
  EXPECT_TRUE(sale->drain().ok());
  const std::lock_guard lock(mutex);
  EXPECT_EQ(stored, accepted);
}

/// A failed call is repeated, because an order is acknowledged only after its call.
TEST(OnStoredTest, FailedCallIsRepeated) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  std::vector<OrderId> stored;
  FlashSaleOptions options = kNoThreads;
  options.worker.on_stored = [&](std::span<const OrderId> orders) {
    stored.insert(stored.end(), orders.begin(), orders.end());
    if (stored.size() == 1) throw std::runtime_error("the mail server is down");
  };
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), options).value();
  EXPECT_TRUE(sale->publish(plain_coffee(10)).ok());
  const OrderId order = sale->buy(7, 1).order;
  EXPECT_THAT(std::string(sale->drain().message()), HasSubstr("the mail server is down"));
  EXPECT_EQ(sale->orders().count_live(7).value(), 1) << "stored before on_stored is called";
  manual.advance_ms(WorkerOptions{}.pause_ms_max);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_THAT(stored, ElementsAre(order, order));
}

TEST(OnStoredTest, RepeatedExceptionIsLoggedOnce) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  std::ostringstream log;
  int calls = 0;
  FlashSaleOptions options = kNoThreads;
  options.worker.on_stored = [&](std::span<const OrderId>) {
    ++calls;
    throw std::runtime_error("the mail server is down");
  };
  options.logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  const auto sale =
      FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(), options).value();
  EXPECT_TRUE(sale->publish(plain_coffee(10)).ok());
  sale->buy(7, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(sale->drain().ok());
    manual.advance_ms(options.worker.pause_ms_max);
  }
  EXPECT_EQ(calls, 3);
  const std::string logged = log.str();
  EXPECT_THAT(logged, HasSubstr("on_stored failed: the mail server is down"));
  EXPECT_EQ(logged.find("on_stored failed: the mail server is down"),
            logged.rfind("on_stored failed: the mail server is down"))
      << logged;
}

TEST(OnStoredTest, RefusedOrderIsNotNamed) {
  auto owned = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  owned->poison([](const Order& order) { return order.user == 2; },
                faults::FaultyOrderStore::Poison::kIsRefused);
  std::vector<OrderId> stored;
  FlashSaleOptions options = kNoThreads;
  options.worker.on_stored = [&](std::span<const OrderId> orders) {
    stored.insert(stored.end(), orders.begin(), orders.end());
  };
  const auto sale = FlashSale::open(Engine::open(std::make_unique<MemoryStore>()).value(),
                                    std::move(owned), options)
                        .value();
  EXPECT_TRUE(sale->publish(plain_coffee(10)).ok());
  const OrderId first = sale->buy(7, 1).order;
  EXPECT_EQ(sale->buy(7, 2).outcome, Outcome::kAccepted);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_THAT(stored, ElementsAre(first));
  EXPECT_EQ(sale->buried(), 1U);
}

}  // namespace
}  // namespace rushgate
