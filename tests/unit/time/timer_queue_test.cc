#include "engine/core/time/timer_queue.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Runs all due callbacks.
void run_due(TimerQueue& timers, std::int64_t monotonic_ms) {
  while (auto callback = timers.take_due(monotonic_ms)) (*callback)();
}

TEST(TimerQueueTest, CallbacksRunInOrderOfTime) {
  TimerQueue timers;
  std::string order;
  timers.add(30, [&] { order += 'c'; });
  timers.add(10, [&] { order += 'a'; });
  timers.add(20, [&] { order += 'b'; });
  run_due(timers, 30);
  EXPECT_EQ(order, "abc");
  EXPECT_TRUE(timers.empty());
}

TEST(TimerQueueTest, SimultaneousCallbacksRunInSchedulingOrder) {
  TimerQueue timers;
  std::string order;
  for (const char name : {'a', 'b', 'c'}) timers.add(10, [&order, name] { order += name; });
  run_due(timers, 10);
  EXPECT_EQ(order, "abc");
}

TEST(TimerQueueTest, NothingIsDueBeforeItsTime) {
  TimerQueue timers;
  timers.add(10, [] {});
  EXPECT_FALSE(timers.take_due(9).has_value());
  EXPECT_TRUE(timers.take_due(10).has_value());
  EXPECT_FALSE(timers.take_due(10).has_value());
}

TEST(TimerQueueTest, NextDueTimeIsReported) {
  TimerQueue timers;
  EXPECT_EQ(timers.next_due_ms(), std::nullopt);
  timers.add(20, [] {});
  const auto sooner = timers.add(10, [] {});
  EXPECT_EQ(timers.next_due_ms(), 10);
  timers.remove(sooner);
  EXPECT_EQ(timers.next_due_ms(), 20);
}

TEST(TimerQueueTest, WaitingTimerIsRemovedOnce) {
  TimerQueue timers;
  const auto waiting = timers.add(10, [] {});
  const auto taken = timers.add(5, [] {});
  EXPECT_TRUE(timers.take_due(5).has_value());
  EXPECT_FALSE(timers.remove(taken));
  EXPECT_TRUE(timers.remove(waiting));
  EXPECT_FALSE(timers.remove(waiting));
  EXPECT_TRUE(timers.empty());
}

TEST(TimerQueueTest, QueueAgreesWithSortedList) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  TimerQueue timers;
  std::map<std::pair<std::int64_t, Scheduler::TimerId>, int> model;
  std::vector<std::pair<std::int64_t, Scheduler::TimerId>> known;
  int fired = -1;
  for (int step = 0; step < 20'000; ++step) {
    const auto due_ms = static_cast<std::int64_t>(random() % 1'000);
    switch (random() % 3) {
      case 0: {
        const auto id = timers.add(due_ms, [&fired, step] { fired = step; });
        known.emplace_back(due_ms, id);
        model.emplace(known.back(), step);
        break;
      }
      case 1: {
        if (known.empty()) break;
        const auto chosen = known[random() % known.size()];
        ASSERT_EQ(timers.remove(chosen.second), model.erase(chosen) == 1);
        break;
      }
      default: {
        auto callback = timers.take_due(due_ms);
        const bool is_due = !model.empty() && model.begin()->first.first <= due_ms;
        ASSERT_EQ(callback.has_value(), is_due);
        if (!is_due) break;
        (*callback)();
        ASSERT_EQ(fired, model.begin()->second);
        model.erase(model.begin());
      }
    }
    ASSERT_EQ(timers.empty(), model.empty());
  }
}

}  // namespace
}  // namespace rushgate
