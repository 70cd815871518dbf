// A queue that admits users at a rate.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/limits.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

class WaitingRoomTest : public RecipeTest {
 protected:
  WaitingRoom::Place visit(std::int64_t user) {
    const auto place = room_->visit("sale", user);
    EXPECT_TRUE(place.ok()) << place.status();
    return place.value_or(WaitingRoom::Place{.position = -1});
  }
  bool enters(std::int64_t user) { return visit(user).has_entered; }

  /// Admits one user every 100 ms, or two at once after a pause.
  std::unique_ptr<WaitingRoom> room_ = *WaitingRoom::create(
      *backend_, {.per_second = 10, .burst = 2, .size_max = 5, .entered_ms = 10'000});
};

INSTANTIATE_TEST_SUITE_P(Backends, WaitingRoomTest, all_recipe_kinds(), recipe_name);

TEST_P(WaitingRoomTest, AdmitsAtRateInArrivalOrder) {
  EXPECT_TRUE(enters(1));
  EXPECT_EQ(visit(2).position, 1);
  const WaitingRoom::Place third = visit(3);
  EXPECT_EQ(third.position, 2);
  EXPECT_EQ(third.wait_ms, 200);
  advance_ms(100);
  EXPECT_EQ(visit(3).position, 1) << "the second came earlier";
  EXPECT_TRUE(enters(2));
  advance_ms(99);
  EXPECT_FALSE(enters(3));
  advance_ms(1);
  EXPECT_TRUE(enters(3));
}

TEST_P(WaitingRoomTest, PauseAllowsOneBurst) {
  EXPECT_TRUE(enters(1));
  advance_ms(5'000);
  EXPECT_TRUE(enters(2));
  EXPECT_TRUE(enters(3));
  EXPECT_FALSE(enters(4));
}

TEST_P(WaitingRoomTest, RepeatedVisitKeepsPlace) {
  EXPECT_TRUE(enters(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(visit(2).position, 1);
  EXPECT_EQ(visit(3).position, 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(enters(1));
}

TEST_P(WaitingRoomTest, LeavingAdvancesLaterUsers) {
  EXPECT_TRUE(enters(1));
  EXPECT_EQ(visit(2).position, 1);
  EXPECT_EQ(visit(3).position, 2);
  EXPECT_EQ(room_->leave("sale", 2), absl::OkStatus());
  EXPECT_EQ(visit(3).position, 1);
  EXPECT_EQ(visit(2).position, 2) << "at the end again";
}

TEST_P(WaitingRoomTest, FullQueueRefusesUsers) {
  EXPECT_TRUE(enters(0));
  for (int user = 1; user <= 5; ++user) EXPECT_EQ(visit(user).position, user);
  const auto refused = room_->visit("sale", 6);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), ::testing::HasSubstr("sale: 5 users wait"));
  EXPECT_EQ(visit(3).position, 3) << "those inside are not sent away";
}

TEST_P(WaitingRoomTest, ExpiredEntryRequiresQueueingAgain) {
  EXPECT_TRUE(enters(1));
  advance_ms(9'999);
  EXPECT_TRUE(enters(1));
  advance_ms(2);
  EXPECT_TRUE(enters(2));
  EXPECT_TRUE(enters(3));
  EXPECT_EQ(visit(1).position, 1);
}

TEST_P(WaitingRoomTest, EmptyQueueLeavesNoKeys) {
  EXPECT_TRUE(enters(1));
  EXPECT_EQ(visit(2).position, 1);
  advance_ms(100);
  EXPECT_TRUE(enters(2));
  advance_ms(11'000);
  const std::string room = "waiting-room:{sale}:";
  EXPECT_EQ((*client_)("EXISTS", room + "queue", room + "entered", room + "state"),
            Reply::integer(0));
}

TEST_P(WaitingRoomTest, ClockBackStopsQueueForOneBurst) {
  EXPECT_TRUE(enters(1));
  EXPECT_FALSE(enters(2));
  set_now_ms(clock_.now_ms() - 3'600'000);
  EXPECT_FALSE(enters(2));
  advance_ms(200);
  EXPECT_TRUE(enters(2));
}

TEST_P(WaitingRoomTest, RandomVisitsKeepRateAndOrder) {
  constexpr int kUsers = 60;
  constexpr std::int64_t kIntervalMs = 100;
  const auto room = *WaitingRoom::create(*backend_, {.per_second = 10, .burst = 2});
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  const std::int64_t begin_ms = clock_.now_ms();
  std::vector<std::int64_t> arrived;
  std::vector<bool> has_entered(kUsers);
  std::size_t entered = 0;
  while (entered < kUsers) {
    advance_ms(random.between(0, 80));
    const auto user = static_cast<std::int64_t>(random.below(kUsers));
    const bool is_new = std::find(arrived.begin(), arrived.end(), user) == arrived.end();
    if (is_new) arrived.push_back(user);
    const auto place = room->visit("sale", user);
    ASSERT_TRUE(place.ok()) << place.status();
    if (!place->has_entered || has_entered[static_cast<std::size_t>(user)]) continue;
    has_entered[static_cast<std::size_t>(user)] = true;
    ++entered;
    const auto rank = std::find(arrived.begin(), arrived.end(), user) - arrived.begin();
    ASSERT_LE(rank, 1 + (clock_.now_ms() - begin_ms) / kIntervalMs) << "user " << user;
  }
}

TEST(WaitingRoomOptionsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  EXPECT_THAT(std::string(WaitingRoom::create(*backend, {.per_second = 0}).status().message()),
              ::testing::HasSubstr("per_second is 0"));
  EXPECT_THAT(std::string(WaitingRoom::create(*backend, {.burst = 0}).status().message()),
              ::testing::HasSubstr("burst is 0"));
}

}  // namespace
}  // namespace rushgate
