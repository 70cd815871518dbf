#include "apps/replay/replay.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
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
                         .order = request.user + 1,
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

ReplayOptions options(int threads) {
  ReplayOptions result;
  result.threads = threads;
  result.queue.batch_max = 7;
  result.file_hash = "file";
  result.retry_after_ms = 0;
  result.attempts_max = 4;
  return result;
}

TEST(ReplayTest, EveryRowIsSentOnceUnderLine) {
  const auto all = rows(1'000);
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, options(4), std::ref(till));
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
    Replay replay(all, options(2), std::ref(till));
    const ReplayResult result = replay.join();
    EXPECT_EQ(count_of(result, Outcome::kAccepted), 100u);
    EXPECT_EQ(count_of(result, outcome), 0u);
    for (const auto& [key, times] : till.asked()) EXPECT_EQ(times, 4) << key;
  }
}

TEST(ReplayTest, ReplayEndsAfterLastAttempt) {
  const auto all = rows(1'000);
  Till till(Outcome::kOutcomeUnknown, 1'000);
  Replay replay(all, options(1), std::ref(till));
  const ReplayResult result = replay.join();
  EXPECT_EQ(count_of(result, Outcome::kOutcomeUnknown), 7u);  // one batch
  EXPECT_EQ(result.trouble, "line 1: outcome unknown: why");
}

TEST(ReplayTest, PatienceOutlastsLostRebuild) {
  const ReplayOptions defaults;
  std::int64_t patience_ms = 0;
  for (int attempt = 1; attempt < defaults.attempts_max; ++attempt) {
    EXPECT_LE(defaults.wait_after_ms(attempt), defaults.retry_after_ms_max);
    patience_ms += defaults.wait_after_ms(attempt);
  }
  EXPECT_EQ(defaults.wait_after_ms(1), 5);
  EXPECT_EQ(defaults.wait_after_ms(2), 10);
  EXPECT_GE(patience_ms, VoucherBook::kRebuildAbandonedMs + 2'000);
}

TEST(ReplayTest, BuyingThreadExceptionEndsReplayWithReason) {
  const auto all = rows(1'000);
  std::atomic<int> batches{0};
  Replay replay(all, options(3), [&](std::span<const BuyRequest> requests) {
    if (++batches == 5) throw std::runtime_error("no memory left");
    return std::vector<BuyResult>(requests.size(),
                                  {.outcome = Outcome::kAccepted, .order = 1, .detail = {}});
  });
  const ReplayResult result = replay.join();
  EXPECT_TRUE(replay.ended());
  EXPECT_EQ(result.trouble, "buying failed: no memory left");
  EXPECT_LT(count_of(result, Outcome::kAccepted), 1'000u);
}

TEST(ReplayTest, NonExceptionThrowEndsReplay) {
  const auto all = rows(10);
  Replay replay(all, options(1),
                [](std::span<const BuyRequest>) -> std::vector<BuyResult> { throw 7; });
  EXPECT_THAT(replay.join().trouble, HasSubstr("buying failed"));
}

TEST(ReplayTest, FailedRequestEndsReplayAtOnce) {
  const auto all = rows(1'000);
  Till till(Outcome::kFailed, 1);
  Replay replay(all, options(1), std::ref(till));
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
  Replay replay(all, paced, [&](std::span<const BuyRequest> requests) {
    const auto now = RowQueue::Clock::now() - started;
    const std::lock_guard lock(mutex);
    for (const BuyRequest& request : requests) {
      if (now < std::chrono::milliseconds(request.user * 5)) early.push_back(request.user);
    }
    return std::vector<BuyResult>(requests.size(), {.outcome = Outcome::kSoldOut});
  });
  EXPECT_EQ(count_of(replay.join(), Outcome::kSoldOut), 20u);
  EXPECT_THAT(early, ElementsAre());
}

TEST(ReplayTest, RealTimeReplayResumesAtPosition) {
  const auto all = rows(10, 1'000'000);  // the last one is due in months
  ReplayOptions paced = options(1);
  paced.queue.real_time = true;
  paced.queue.from_at_ms = all.back().at_ms;
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, paced, std::ref(till));
  EXPECT_EQ(count_of(replay.join(), Outcome::kAccepted), 10u);
}

TEST(ReplayTest, StoppedReplaySendsNoMore) {
  const auto all = rows(2, 1'000'000);
  ReplayOptions paced = options(2);
  paced.queue.real_time = true;
  Till till(Outcome::kAccepted, 0);
  Replay replay(all, paced, std::ref(till));
  replay.stop();
  EXPECT_LE(count_of(replay.join(), Outcome::kAccepted), 1u);
  EXPECT_TRUE(replay.ended());
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

Order order(OrderId id, UserId user) {
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
