#include "engine/redis/executor/turn.h"

#include <thread>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(TurnTest, TakenTurnIsTakenOnce) {
  Turn turn;
  EXPECT_TRUE(turn.try_take());
  EXPECT_TRUE(turn.is_held_here());
  EXPECT_FALSE(turn.try_take());
  turn.release();
  EXPECT_FALSE(turn.is_held_here());
  EXPECT_TRUE(turn.try_take());
  turn.release();
}

TEST(TurnTest, GivenTurnIsHeldByReceiver) {
  Turn turn;
  ASSERT_TRUE(turn.try_take());
  turn.give_away();
  EXPECT_FALSE(turn.is_held_here());
  std::thread([&] {
    EXPECT_FALSE(turn.try_take()) << "it was not free in between";
    turn.receive();
    EXPECT_TRUE(turn.is_held_here());
    turn.release();
  }).join();
  EXPECT_TRUE(turn.try_take());
  turn.release();
}

TEST(TurnTest, TurnsOfTwoEnginesNest) {
  Turn outer;
  Turn inner;
  ASSERT_TRUE(outer.try_take());
  ASSERT_TRUE(inner.try_take());
  EXPECT_TRUE(outer.is_held_here());
  EXPECT_TRUE(inner.is_held_here());
  inner.release();
  EXPECT_TRUE(outer.is_held_here());
  EXPECT_FALSE(inner.is_held_here());
  outer.release();
  EXPECT_FALSE(outer.is_held_here());
}

TEST(TurnTest, RequestIsLeftOnlyForTakenTurn) {
  Turn turn;
  EXPECT_TRUE(turn.try_take_or_request());
  EXPECT_FALSE(turn.take_request());
  std::thread([&] { EXPECT_FALSE(turn.try_take_or_request()); }).join();
  turn.release();
  EXPECT_TRUE(turn.take_request());
  EXPECT_FALSE(turn.take_request()) << "it is removed";
}

}  // namespace
}  // namespace rushgate
