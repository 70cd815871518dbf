#include "engine/redis/executor/operation_state.h"

#include <thread>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(OperationStateTest, BegunOperationCannotBeAbandoned) {
  OperationState state;
  EXPECT_TRUE(state.is_waiting());
  EXPECT_TRUE(state.begin());
  EXPECT_FALSE(state.is_waiting());
  EXPECT_FALSE(state.abandon());
}

TEST(OperationStateTest, AbandonedOperationDoesNotBegin) {
  OperationState state;
  EXPECT_TRUE(state.abandon());
  EXPECT_FALSE(state.begin());
}

TEST(OperationStateTest, WaitEndsAtDeadline) {
  ManualClock clock;
  clock.advance_ms(10);
  OperationState state;
  EXPECT_EQ(state.wait(clock, 10), OperationState::kAbandoned);
  EXPECT_FALSE(state.begin());
}

TEST(OperationStateTest, BegunOperationIsAwaitedBeyondDeadline) {
  ManualClock clock;
  clock.advance_ms(10);
  OperationState state;
  ASSERT_TRUE(state.begin());
  std::thread holder([&] { state.report_replies(); });
  EXPECT_EQ(state.wait(clock, 10), OperationState::kReplied);
  holder.join();
}

TEST(OperationStateTest, WaitReturnsTurnAndThenReplies) {
  const ManualClock clock;
  OperationState state;
  std::thread holder([&] { state.pass_turn(); });
  EXPECT_EQ(state.wait(clock, 0), OperationState::kHasTurn);
  holder.join();
  state.run_in_own_turn();
  EXPECT_FALSE(state.is_replied());
  state.report_replies();
  EXPECT_TRUE(state.is_replied());
  EXPECT_EQ(state.wait(clock, 0), OperationState::kReplied);
}

}  // namespace
}  // namespace rushgate
