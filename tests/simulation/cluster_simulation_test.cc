// Random schedules on a simulated cluster: nothing is oversold, no accepted order is lost unless a master lost it,
// each voucher is sold to the last piece, and nobody is told earlier that it is sold out. All limits hold, an
// idempotency key gets one order, a token buys once, users who wait are served in their order and before pieces
// stay free, and an archived voucher has all its orders. Bugs that are planted are found.
#include <array>
#include <cstdint>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "tests/simulation/simulated_shop.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>

namespace rushgate::testing {
namespace {

/// Runs one schedule. Returns what is wrong.
std::string run_schedule(SimulatedShop& shop) {
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps; ++step) shop.step();
  return shop.end();
}

/// Runs schedules with the seeds from `first` on.
void run_schedules(std::uint64_t first, int count, const ShopOptions& options) {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    SimulatedShop shop(seed, options);
    const std::string faults = run_schedule(shop);
    ASSERT_EQ(faults, "") << "seed " << seed << "\n" << shop.story();
  }
}

int schedules() { return is_full_run() ? 25'000 : 250; }

TEST(ClusterSimulationTest, NothingIsLostByFixedSchedules) {
  run_schedules(1, schedules(), {.masters_lose = false});
}
TEST(ClusterSimulationTest, NothingIsLostByFreshSchedules) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  run_schedules(seed, schedules(), {.masters_lose = false});
}
TEST(ClusterSimulationTest, LosingMastersOversellNothingByFixedSchedules) {
  run_schedules(1, schedules(), {});
}
TEST(ClusterSimulationTest, LosingMastersOversellNothingByFreshSchedules) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  run_schedules(seed, schedules(), {});
}

TEST(ClusterSimulationTest, ASeedRepeatsItsSchedule) {
  // Identities are drawn, and so are purchase tokens, of which the story has the beginning.
  const std::regex drawn("\\b[0-9a-f]{16}([0-9a-f]{8})?\\b");
  const std::uint64_t seeds = is_full_run() ? 200 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    std::array<std::string, 2> stories;
    for (std::string& story : stories) {
      SimulatedShop shop(seed, {});
      run_schedule(shop);
      story = std::regex_replace(shop.story(), drawn, "#");
    }
    EXPECT_EQ(stories[0], stories[1]);
  }
}

class PlantedBugTest : public ::testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugTest, IsFoundWithinTwoHundredSchedules) {
  constexpr int kSchedules = 200;
  const std::uint64_t searches = is_full_run() ? 20 : 1;
  for (std::uint64_t search = 0; search < searches; ++search) {
    int tried = 0;
    bool is_found = false;
    while (!is_found && tried < kSchedules) {
      SimulatedShop shop(search * kSchedules + static_cast<std::uint64_t>(++tried),
                         {.bug = GetParam()});
      is_found = !run_schedule(shop).empty();
    }
    RecordProperty("schedule", tried);
    EXPECT_TRUE(is_found) << bug_name(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest,
                         ::testing::Values(PlantedBug::kPutTwice, PlantedBug::kOneLaneIsSoldOut,
                                           PlantedBug::kPiecesUnfenced,
                                           PlantedBug::kOrdersUnfenced),
                         [](const auto& bug) {
                           std::string name(bug_name(bug.param));
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace rushgate::testing
