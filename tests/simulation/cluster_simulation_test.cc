// Random schedules on a simulated cluster: nothing is oversold, no accepted order is lost unless a master lost it,
// and each voucher is sold to the last piece.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/simulation/simulated_shop.h"
#include "tests/support/sweep.h"
#include <rushgate/random_seed.h>

namespace rushgate::testing {
namespace {

constexpr int kSteps = 100;

/// Runs schedules with the seeds from `first` on.
void run_schedules(std::uint64_t first, int count, const ShopOptions& options) {
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    SimulatedShop shop(seed, options);
    for (int step = 0; step < kSteps; ++step) shop.step();
    const std::string faults = shop.end();
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

}  // namespace
}  // namespace rushgate::testing
