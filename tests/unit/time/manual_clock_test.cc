#include <gtest/gtest.h>

#include <rushgate/clock.h>

namespace rushgate {
namespace {

TEST(ManualClockTest, ClockStandsStillUntilMoved) {
  const ManualClock clock;
  EXPECT_EQ(clock.now_ms(), ManualClock::kStartMs);
  EXPECT_EQ(clock.now_ms(), ManualClock::kStartMs);
  EXPECT_EQ(clock.monotonic_ms(), 0);
}

TEST(ManualClockTest, AdvanceMovesBothTimes) {
  ManualClock clock(5'000);
  clock.advance_ms(7);
  EXPECT_EQ(clock.now_ms(), 5'007);
  EXPECT_EQ(clock.monotonic_ms(), 7);
}

TEST(ManualClockTest, SettingTimeOfDayLeavesDurations) {
  ManualClock clock(5'000);
  clock.advance_ms(7);
  clock.set_now_ms(1'000);
  EXPECT_EQ(clock.now_ms(), 1'000);
  EXPECT_EQ(clock.monotonic_ms(), 7);
}

TEST(SystemClockTest, StartIsInThisCentury) {
  const SystemClock clock;
  EXPECT_GT(clock.now_ms(), ManualClock::kStartMs);
  const std::int64_t before = clock.monotonic_ms();
  EXPECT_LE(before, clock.monotonic_ms());
}

}  // namespace
}  // namespace rushgate
