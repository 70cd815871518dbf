#include "engine/redis/keyspace/use_clock.h"

#include <gtest/gtest.h>

namespace rushgate {
namespace {

constexpr std::int64_t kRangeMs = (std::int64_t{UseClock::kMax} + 1) * 1'000;

UseClock at_second(std::int64_t second) {
  UseClock clock;
  clock.set_now_ms(100 * kRangeMs + second * 1'000 + 999);
  return clock;
}

TEST(UseClockTest, IdleTimeCountsSeconds) {
  EXPECT_EQ(at_second(0).now(), 0U);
  EXPECT_EQ(at_second(1'000).idle_s(at_second(10).now()), 990U);
  EXPECT_EQ(at_second(1'000).idle_s(1'000), 0U);
}

TEST(UseClockTest, IdleTimeSpansWrap) {
  EXPECT_EQ(at_second(5).idle_s(UseClock::kMax), 5U);
  EXPECT_EQ(at_second(5).idle_s(UseClock::kMax - 10), 15U);
}

TEST(UseClockTest, LastUseHasIdleTime) {
  for (const std::int64_t idle_s : {0, 1, 999, 1'000, 1'001, 1'000'000, 16'777'214})
    EXPECT_EQ(at_second(1'000).idle_s(at_second(1'000).last_use(idle_s)), idle_s);
}

/// The replies are those of redis-server 7.0.15.
TEST(UseClockTest, LongerIdleTimeIsReduced) {
  const UseClock clock = at_second(534'090);
  EXPECT_EQ(clock.idle_s(clock.last_use(16'777'215)), 0U);
  EXPECT_EQ(clock.idle_s(clock.last_use(16'777'216)), 1U);
  EXPECT_EQ(clock.idle_s(clock.last_use(20'000'000)), 3'222'784U);
  EXPECT_EQ(clock.idle_s(clock.last_use(1'000'000'000'000)), 10'817'536U);
}

}  // namespace
}  // namespace rushgate
