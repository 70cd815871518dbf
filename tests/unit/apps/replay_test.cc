#include "apps/replay/replay.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/replay/order_check.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<RequestRow> rows(std::size_t count, std::int64_t gap_ms = 0) {
  std::vector<RequestRow> result;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    result.push_back({.at_ms = number * gap_ms, .user = number, .voucher = 1, .line = i + 1});
  }
  return result;
}

std::size_t count_of(const ReplayResult& result, Outcome outcome) {
  return result.rows[static_cast<std::size_t>(outcome)];
}

/// Replies with `outcome` the first `times` times for each idempotency key, then accepts.
class Till {
 public:
  Till(Outcome outcome, int times) : outcome_(outcome), times_(times) {}

  std::vector<BuyResult> operator()(std::span<const BuyRequest> requests) {
    const std::lock_guard lock(mutex_);
    std::vector<BuyResult> results;
    for (const BuyRequest& request : requests) {
      const int asked = ++asked_[request.idempotency_key];
      results.push_back({.outcome = asked <= times_ ? outcome_ : Outcome::kAccepted,
                         .order = request.user.number() + 1,
                         .detail = "why"});
    }
    return results;
  }
  const std::map<std::string, int>& asked() const { return asked_; }

 private:
  const Outcome outcome_;
  const int times_;
  std::mutex mutex_;
  std::map<std::string, int> asked_;  // guarded by mutex_
};

SaleCalls calls_of(Till& till) { return {.buy_all = std::ref(till)}; }

ReplayOptions options(int threads) {
  ReplayOptions result;
  result.threads = threads;
  result.queue.batch_max = 7;
  result.file_hash = "file";
  result.patience.retry_after_ms = 0;
  result.patience.attempts_max = 4;
  return result;
}

TEST(ReplayTest, EveryRowIsSentOnceUnderLine) {
  const auto all = rows(1'000);
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, options(4), calls_of(till));
  const ReplayResult result = replay.join();
  EXPECT_EQ(count_of(result, Outcome::kAccepted), 1'000u);
  EXPECT_EQ(result.latency.count(), 1'000u);
  EXPECT_EQ(result.trouble, "");
  EXPECT_EQ(till.asked().size(), 1'000u);
  EXPECT_EQ(till.asked().begin()->first, "file:1");
  for (const auto& [key, times] : till.asked()) EXPECT_EQ(times, 1) << key;
}

TEST(ReplayTest, RetryWithSameKeyCountsOnce) {
  const auto all = rows(100);
  for (const Outcome outcome : {Outcome::kOverloaded, Outcome::kOutcomeUnknown}) {
    Till till(outcome, 3);
    Replay replay(all, options(2), calls_of(till));
    const ReplayResult result = replay.join();
    EXPECT_EQ(count_of(result, Outcome::kAccepted), 100u);
    EXPECT_EQ(count_of(result, outcome), 0u);
    for (const auto& [key, times] : till.asked()) EXPECT_EQ(times, 4) << key;
  }
}

TEST(ReplayTest, ReplayEndsAfterLastAttempt) {
  const auto all = rows(1'000);
  Till till(Outcome::kOutcomeUnknown, 1'000);
  Replay replay(all, options(1), calls_of(till));
  const ReplayResult result = replay.join();
  EXPECT_EQ(count_of(result, Outcome::kOutcomeUnknown), 7u);  // one batch
  EXPECT_EQ(result.trouble, "line 1: outcome unknown: why");
}

TEST(ReplayTest, PatienceOutlastsLostRebuild) {
  const Patience defaults;
  for (int attempt = 1; attempt < defaults.attempts_max; ++attempt) {
    EXPECT_LE(defaults.wait_after_ms(attempt), defaults.retry_after_ms_max);
  }
  EXPECT_EQ(defaults.wait_after_ms(1), 5);
  EXPECT_EQ(defaults.wait_after_ms(2), 10);
  EXPECT_GE(defaults.total_ms(), VoucherRebuilder::kAbandonedMs + 2'000);
}

TEST(PatienceTest, SecondsDetermineAttempts) {
  EXPECT_EQ(Patience::of_seconds(Patience::kSeconds).attempts_max, Patience{}.attempts_max);
  EXPECT_GE(Patience::of_seconds(60).total_ms(), 60'000);
  EXPECT_LT(Patience::of_seconds(60).total_ms(), 61'000);
  EXPECT_EQ(Patience::none().attempts_max, 1);
}

TEST(PatienceTest, OnlyPassingFailureIsRepeated) {
  Patience twice;
  twice.attempts_max = 2;
  twice.retry_after_ms = 0;
  for (const auto& [status, calls_expected] : {std::pair{absl::UnavailableError("away"), 2},
                                               {absl::AbortedError("rebuilding"), 2},
                                               {absl::InternalError("wrong"), 1},
                                               {absl::OkStatus(), 1}}) {
    int calls = 0;
    EXPECT_EQ(patiently(twice, [&, &returned = status] { return ++calls, returned; }), status);
    EXPECT_EQ(calls, calls_expected) << status;
  }
}

TEST(ReplayTest, BuyingThreadExceptionEndsReplayWithReason) {
  const auto all = rows(1'000);
  std::atomic<int> batches{0};
  const auto buy_all = [&](std::span<const BuyRequest> requests) {
    if (++batches == 5) throw std::runtime_error("no memory left");
    return std::vector<BuyResult>(requests.size(),
                                  {.outcome = Outcome::kAccepted, .order = 1, .detail = {}});
  };
  Replay replay(all, options(3), {.buy_all = buy_all});
  const ReplayResult result = replay.join();
  EXPECT_TRUE(replay.ended());
  EXPECT_EQ(result.trouble, "buying failed: no memory left");
  EXPECT_LT(count_of(result, Outcome::kAccepted), 1'000u);
}

TEST(ReplayTest, NonExceptionThrowEndsReplay) {
  const auto all = rows(10);
  const auto buy_all = [](std::span<const BuyRequest>) -> std::vector<BuyResult> { throw 7; };
  Replay replay(all, options(1), {.buy_all = buy_all});
  EXPECT_THAT(replay.join().trouble, HasSubstr("buying failed"));
}

TEST(ReplayTest, FailedRequestEndsReplayAtOnce) {
  const auto all = rows(1'000);
  Till till(Outcome::kFailed, 1);
  Replay replay(all, options(1), calls_of(till));
  const ReplayResult result = replay.join();
  EXPECT_EQ(count_of(result, Outcome::kFailed), 7u);
  EXPECT_THAT(result.trouble, HasSubstr("failed"));
  EXPECT_EQ(till.asked().size(), 7u);
}

TEST(ReplayTest, RealTimeRowsAreNeverEarly) {
  const auto all = rows(20, 5);
  std::mutex mutex;
  std::vector<std::int64_t> early;
  const auto started = RowQueue::Clock::now();
  ReplayOptions paced = options(2);
  paced.queue.real_time = true;
  const auto buy_all = [&](std::span<const BuyRequest> requests) {
    const auto now = RowQueue::Clock::now() - started;
    const std::lock_guard lock(mutex);
    for (const BuyRequest& request : requests) {
      if (now < std::chrono::milliseconds(request.user.number() * 5))
        early.push_back(request.user.number());
    }
    return std::vector<BuyResult>(requests.size(), {.outcome = Outcome::kSoldOut});
  };
  Replay replay(all, paced, {.buy_all = buy_all});
  EXPECT_EQ(count_of(replay.join(), Outcome::kSoldOut), 20u);
  EXPECT_THAT(early, ElementsAre());
}

TEST(ReplayTest, RealTimeReplayResumesAtPosition) {
  const auto all = rows(10, 1'000'000);  // the last one is due in months
  ReplayOptions paced = options(1);
  paced.queue.real_time = true;
  paced.queue.from_at_ms = all.back().at_ms;
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, paced, calls_of(till));
  EXPECT_EQ(count_of(replay.join(), Outcome::kAccepted), 10u);
}

TEST(ReplayTest, StoppedReplaySendsNoMore) {
  const auto all = rows(2, 1'000'000);
  ReplayOptions paced = options(2);
  paced.queue.real_time = true;
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, paced, calls_of(till));
  replay.stop();
  EXPECT_LE(count_of(replay.join(), Outcome::kAccepted), 1u);
  EXPECT_TRUE(replay.ended());
}

// ---- Rows that pay and cancel ------------------------------------------------------------------

/// Keeps the state of orders: one per purchase, with ids from 1.
class Register {
 public:
  SaleCalls calls() {
    return {.buy_all = [this](std::span<const BuyRequest> all) { return buy_all(all); },
            .pay_all = [this](std::span<const PayRequest> all) { return pay_all(all); },
            .cancel = [this](OrderId order) { return change(order, "cancelled"); }};
  }
  const std::map<OrderId, std::string>& states() const { return states_; }
  const std::vector<PayRequest>& payments() const { return payments_; }

 private:
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests) {
    const std::lock_guard lock(mutex_);
    std::vector<BuyResult> results;
    for (const BuyRequest& request : requests) {
      const auto id = static_cast<OrderId>(states_.size()) + 1;
      const bool accepts = request.voucher == 1;
      if (accepts) states_[id] = "unpaid";
      results.push_back(
          {.outcome = accepts ? Outcome::kAccepted : Outcome::kSoldOut, .order = accepts ? id : 0});
    }
    return results;
  }

  std::vector<ChangeResult> pay_all(std::span<const PayRequest> requests) {
    std::vector<ChangeResult> results;
    for (const PayRequest& request : requests) {
      results.push_back(change(request.order, "paid"));
      const std::lock_guard lock(mutex_);
      payments_.push_back(request);
    }
    return results;
  }

  ChangeResult change(OrderId order, const std::string& state) {
    const std::lock_guard lock(mutex_);
    if (states_.at(order) != "unpaid") return {.outcome = ChangeOutcome::kTooLate};
    states_[order] = state;
    return {.outcome = ChangeOutcome::kDone};
  }

  std::mutex mutex_;
  std::map<OrderId, std::string> states_;  // guarded by mutex_
  std::vector<PayRequest> payments_;       // guarded by mutex_
};

std::size_t count_of(const EventCounts& counts, ChangeOutcome outcome) {
  return counts.outcomes[static_cast<std::size_t>(outcome)];
}

std::vector<RequestRow> parsed(const std::string& text) {
  const ParsedRequests requests = parse_requests(text);
  EXPECT_EQ(requests.bad_count, 0u);
  return requests.rows;
}

TEST(ReplayTest, EventsFollowTheirPurchasesOnManyThreads) {
  std::string text = "at_ms,user_id,voucher_id,event\n";
  constexpr int kUsers = 300;
  for (int user = 1; user <= kUsers; ++user) {
    const char* const event = user % 3 == 0 ? "cancel" : "pay";
    text += "0," + std::to_string(user) + ",1,buy\n";
    text += std::to_string(user % 5) + "," + std::to_string(user) + ",1," + event + "\n";
  }
  const auto all = parsed(text);
  Register sale;
  ReplayOptions several = options(4);
  several.price_cents[1] = 250;
  Replay replay(all, several, sale.calls());
  const ReplayResult result = replay.join();
  EXPECT_EQ(result.trouble, "");
  EXPECT_EQ(count_of(result, Outcome::kAccepted), std::size_t{kUsers});
  EXPECT_EQ(count_of(result.pays, ChangeOutcome::kDone), std::size_t{kUsers / 3 * 2});
  EXPECT_EQ(count_of(result.cancels, ChangeOutcome::kDone), std::size_t{kUsers / 3});
  EXPECT_EQ(result.pays.without_order + result.cancels.without_order, 0u);
  EXPECT_EQ(sale.payments().front().amount_cents, 250);
  EXPECT_THAT(sale.payments().front().payment, ::testing::StartsWith("file:"));
}

TEST(ReplayTest, EventMeansNewestAcceptedOrder) {
  const auto all = parsed(
      "at_ms,user_id,voucher_id,event,amount_cents\n"
      "0,7,1,buy,\n"
      "1,7,1,cancel,\n"
      "2,7,1,buy,\n"
      "3,7,1,pay,99\n"
      "4,7,1,pay,\n"
      "5,7,2,buy,\n"
      "6,7,2,pay,\n");
  Register sale;
  Replay replay(all, options(2), sale.calls());
  const ReplayResult result = replay.join();
  EXPECT_THAT(sale.states(),
              ElementsAre(::testing::Pair(1, "cancelled"), ::testing::Pair(2, "paid")));
  EXPECT_EQ(sale.payments().front().amount_cents, 99);
  EXPECT_EQ(count_of(result.pays, ChangeOutcome::kDone), 1u);
  EXPECT_EQ(count_of(result.pays, ChangeOutcome::kTooLate), 1u);
  EXPECT_EQ(result.pays.without_order, 1u) << "sold out";
  EXPECT_EQ(result.pays.total() + result.cancels.total(), 4u);
}

TEST(ReplayTest, QuantityReferenceAndPaymentArePassedOn) {
  const auto all = parsed(
      "at_ms,user_id,voucher_id,event,quantity,payment,reference\n"
      "0,7,1,buy,3,,cart\n"
      "1,7,1,pay,,pi_1,\n"
      "2,7,1,pay,,,\n");
  Register sale;
  ReplayOptions priced = options(1);
  priced.price_cents[1] = 250;
  std::vector<BuyRequest> bought;
  SaleCalls calls = sale.calls();
  calls.buy_all = [&, buy_all = calls.buy_all](std::span<const BuyRequest> requests) {
    bought.assign(requests.begin(), requests.end());
    return buy_all(requests);
  };
  Replay(all, priced, calls).join();
  ASSERT_EQ(bought.size(), 1u);
  EXPECT_EQ(bought[0].quantity, 3);
  EXPECT_EQ(bought[0].reference, "cart");
  ASSERT_EQ(sale.payments().size(), 2u);
  EXPECT_EQ(sale.payments()[0].payment, "pi_1");
  EXPECT_EQ(sale.payments()[0].amount_cents, 750);
  EXPECT_EQ(sale.payments()[1].payment, "file:4");
}

TEST(ReplayTest, KeyNamesPurchase) {
  const auto all = parsed(
      "at_ms,user_id,voucher_id,event,key\n"
      "0,7,1,buy,a\n"
      "0,7,1,buy,b\n"
      "1,7,1,pay,a\n"
      "2,7,1,cancel,b\n");
  Register sale;
  Replay replay(all, options(1), sale.calls());
  replay.join();
  EXPECT_THAT(sale.states(),
              ElementsAre(::testing::Pair(1, "paid"), ::testing::Pair(2, "cancelled")));
}

TEST(ReplayTest, EventAfterStopIsNotSent) {
  const auto all = parsed("at_ms,user_id,voucher_id,event\n0,7,1,buy\n0,7,1,pay\n");
  ReplayOptions one = options(1);
  one.patience.retry_after_ms = 60'000;
  Till till(Outcome::kOverloaded, 1);
  std::atomic<bool> was_asked{false};
  const auto buy_all = [&](std::span<const BuyRequest> requests) {
    was_asked = true;
    return till(requests);
  };
  Register sale;
  SaleCalls calls = sale.calls();
  calls.buy_all = buy_all;
  Replay replay(all, one, calls);
  while (!was_asked) std::this_thread::yield();
  replay.stop();
  const ReplayResult result = replay.join();
  EXPECT_EQ(result.pays.total(), 0u);
  EXPECT_TRUE(sale.payments().empty());
}

TEST(RowQueueTest, LaterBatchWaitsForEarlier) {
  const auto all = rows(4);
  RowQueue queue(all, {.batch_max = 2});
  const auto first = queue.take();
  const auto second = queue.take();
  EXPECT_TRUE(queue.wait_for_earlier(first));
  std::thread finisher([&] { queue.done(first); });
  EXPECT_TRUE(queue.wait_for_earlier(second));
  finisher.join();
}

TEST(RowQueueTest, StopEndsWaitForEarlier) {
  const auto all = rows(4);
  RowQueue queue(all, {.batch_max = 2});
  queue.take();
  const auto second = queue.take();
  queue.stop();
  EXPECT_FALSE(queue.wait_for_earlier(second));
}

TEST(RowQueueTest, RepliedPositionPrecedesFirstOpenBatch) {
  const auto all = rows(10, 1);
  RowQueue queue(all, {.batch_max = 3});
  EXPECT_EQ(queue.completed_up_to_ms(), 0);
  const auto first = queue.take();
  const auto second = queue.take();
  queue.done(second);
  EXPECT_EQ(queue.completed_up_to_ms(), 0);
  queue.done(first);
  EXPECT_EQ(queue.completed_up_to_ms(), 6);
}

// ---- The orders of accepted rows --------------------------------------------------------------

Order order(OrderId id, std::int64_t user) {
  Order result;
  result.id = id;
  result.user = user;
  result.voucher = 1;
  result.entry = {static_cast<std::uint64_t>(id), 0};
  return result;
}

TEST(OrderCheckTest, LostAndDoubledLinesAreNamed) {
  MemoryOrderStore orders;
  const Order stored[] = {order(101, 1), order(102, 2)};
  ASSERT_TRUE(write_now(orders, stored).ok());
  DeadLetter dead;
  dead.order = {.id = "5-0",
                .fields = {{"id", "103"}, {"userId", "3"}, {"voucherId", "1"}, {"limit", "1"}}};
  const AcceptedRow accepted[] = {{1, 101}, {2, 102}, {3, 103}, {4, 104}, {5, 101}};
  const auto check = check_orders(accepted, orders, std::vector{dead});
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->created, 2u);
  EXPECT_EQ(check->dead, 1u);
  EXPECT_THAT(check->problems, ElementsAre("lines 1 and 5 got the same order 101",
                                           "line 4 was accepted as order 104, which is lost"));
}

}  // namespace
}  // namespace rushgate
