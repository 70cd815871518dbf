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
    return [this] { fired_at.push_back(clock.monotonic_ms()); };
  }

  using Times = std::vector<std::int64_t>;

  ManualClock clock;
  ManualScheduler scheduler{clock};
  Times fired_at;
};

TEST_F(ManualSchedulerTest, NothingRunsUntilTimeMoves) {
  scheduler.at(0, note_time());
  EXPECT_EQ(fired_at, Times{});
  scheduler.advance_ms(0);
  EXPECT_EQ(fired_at, Times{0});
}

TEST_F(ManualSchedulerTest, EachCallbackSeesItsOwnTime) {
  scheduler.at(30, note_time());
  scheduler.at(10, note_time());
  scheduler.at(101, note_time());
  scheduler.advance_ms(100);
  EXPECT_EQ(fired_at, (Times{10, 30}));
  EXPECT_EQ(clock.monotonic_ms(), 100);
  EXPECT_EQ(clock.now_ms(), ManualClock::kStartMs + 100);
  scheduler.advance_ms(1);
  EXPECT_EQ(fired_at, (Times{10, 30, 101}));
}

TEST_F(ManualSchedulerTest, ACallbackMaySetTheNextTimer) {
  std::function<void()> tick = [&] {
    fired_at.push_back(clock.monotonic_ms());
    scheduler.at(clock.monotonic_ms() + 10, tick);
  };
  scheduler.at(10, tick);
  scheduler.advance_ms(35);
  EXPECT_EQ(fired_at, (Times{10, 20, 30}));
}

TEST_F(ManualSchedulerTest, ATimeThatHasPassedRunsAtOnceWithoutGoingBack) {
  scheduler.advance_ms(50);
  scheduler.at(10, note_time());
  scheduler.advance_ms(5);
  EXPECT_EQ(fired_at, Times{50});
  EXPECT_EQ(clock.monotonic_ms(), 55);
}

TEST_F(ManualSchedulerTest, ACancelledCallbackDoesNotRun) {
  const auto cancelled = scheduler.at(10, note_time());
  const auto kept = scheduler.at(20, note_time());
  EXPECT_TRUE(scheduler.cancel(cancelled));
  scheduler.advance_ms(100);
  EXPECT_EQ(fired_at, Times{20});
  EXPECT_FALSE(scheduler.cancel(cancelled));
  EXPECT_FALSE(scheduler.cancel(kept)) << "it has run";
}

TEST_F(ManualSchedulerTest, ACallbackMayCancelAnotherOfTheSameTime) {
  Scheduler::TimerId second = 0;
  scheduler.at(10, [&] { EXPECT_TRUE(scheduler.cancel(second)); });
  second = scheduler.at(10, note_time());
  scheduler.advance_ms(10);
  EXPECT_EQ(fired_at, Times{});
}

TEST_F(ManualSchedulerTest, ACallbackThatIsRunningCannotBeCancelled) {
  Scheduler::TimerId self = 0;
  self = scheduler.at(10, [&] { EXPECT_FALSE(scheduler.cancel(self)); });
  scheduler.advance_ms(10);
}

}  // namespace
}  // namespace rushgate
