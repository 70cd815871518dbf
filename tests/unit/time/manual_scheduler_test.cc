#include "engine/time/manual_scheduler.h"

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

class ManualSchedulerTest : public testing::Test {
 protected:
  Scheduler::Callback note_time() {
    return [this] { fired_at_.push_back(clock_.monotonic_ms()); };
  }

  using Times = std::vector<std::int64_t>;

  ManualClock clock_;
  ManualScheduler scheduler_{clock_};
  Times fired_at_;
};

TEST_F(ManualSchedulerTest, NothingRunsUntilTimeMoves) {
  scheduler_.at(0, note_time());
  EXPECT_EQ(fired_at_, Times{});
  scheduler_.advance_ms(0);
  EXPECT_EQ(fired_at_, Times{0});
}

TEST_F(ManualSchedulerTest, EachCallbackSeesItsOwnTime) {
  scheduler_.at(30, note_time());
  scheduler_.at(10, note_time());
  scheduler_.at(101, note_time());
  scheduler_.advance_ms(100);
  EXPECT_EQ(fired_at_, (Times{10, 30}));
  EXPECT_EQ(clock_.monotonic_ms(), 100);
  EXPECT_EQ(clock_.now_ms(), ManualClock::kStartMs + 100);
  scheduler_.advance_ms(1);
  EXPECT_EQ(fired_at_, (Times{10, 30, 101}));
}

TEST_F(ManualSchedulerTest, CallbackMaySetNextTimer) {
  std::function<void()> tick = [&] {
    fired_at_.push_back(clock_.monotonic_ms());
    scheduler_.at(clock_.monotonic_ms() + 10, tick);
  };
  scheduler_.at(10, tick);
  scheduler_.advance_ms(35);
  EXPECT_EQ(fired_at_, (Times{10, 20, 30}));
}

TEST_F(ManualSchedulerTest, PastTimeRunsAtOnce) {
  scheduler_.advance_ms(50);
  scheduler_.at(10, note_time());
  scheduler_.advance_ms(5);
  EXPECT_EQ(fired_at_, Times{50});
  EXPECT_EQ(clock_.monotonic_ms(), 55);
}

TEST_F(ManualSchedulerTest, CancelledCallbackDoesNotRun) {
  const auto cancelled = scheduler_.at(10, note_time());
  const auto kept = scheduler_.at(20, note_time());
  EXPECT_TRUE(scheduler_.cancel(cancelled));
  scheduler_.advance_ms(100);
  EXPECT_EQ(fired_at_, Times{20});
  EXPECT_FALSE(scheduler_.cancel(cancelled));
  EXPECT_FALSE(scheduler_.cancel(kept)) << "it has already run";
}

TEST_F(ManualSchedulerTest, CallbackMayCancelSimultaneousOne) {
  Scheduler::TimerId second = 0;
  scheduler_.at(10, [&] { EXPECT_TRUE(scheduler_.cancel(second)); });
  second = scheduler_.at(10, note_time());
  scheduler_.advance_ms(10);
  EXPECT_EQ(fired_at_, Times{});
}

TEST_F(ManualSchedulerTest, RunningCallbackCannotBeCancelled) {
  Scheduler::TimerId self = 0;
  self = scheduler_.at(10, [&] { EXPECT_FALSE(scheduler_.cancel(self)); });
  scheduler_.advance_ms(10);
}

}  // namespace
}  // namespace rushgate
