#include <random>

#include "engine/core/base/time_units.h"
#include "engine/sale/model/voucher_terms.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

TEST(SaleDayTest, DayBeginsAtOffsetMidnight) {
  EXPECT_EQ(sale_day(0, 0), 0);
  EXPECT_EQ(sale_day(kDayMs - 1, 0), 0);
  EXPECT_EQ(sale_day(kDayMs, 0), 1);
  EXPECT_EQ(sale_day(kDayMs - 1, 1), 1);
  EXPECT_EQ(sale_day(kDayMs - kMinuteMs - 1, 1), 0);
  EXPECT_EQ(sale_day(kDayMs, -1), 0);
  EXPECT_EQ(sale_day(kDayMs + kMinuteMs, -1), 1);
}

TEST(SaleDayTest, DaysBefore1970AreRoundedDownToo) {
  EXPECT_EQ(sale_day(-1, 0), -1);
  EXPECT_EQ(sale_day(-kDayMs, 0), -1);
  EXPECT_EQ(sale_day(-kDayMs - 1, 0), -2);
  EXPECT_EQ(sale_day(0, -1), -1);
  EXPECT_EQ(sale_day(0, -1'439), -1);
  EXPECT_EQ(sale_day(-1, 1), 0);
  EXPECT_EQ(sale_day(-kDayMs, 1'439), -1);
  EXPECT_EQ(sale_day(-kDayMs, 1'440), 0);
}

/// Computes the day in Lua, on each backend.
class SaleDayInLuaTest : public ::testing::TestWithParam<SaleBackendParam> {};
INSTANTIATE_TEST_SUITE_P(Backends, SaleDayInLuaTest, each_backend(), backend_name);

TEST_P(SaleDayInLuaTest, AdmissionScriptCountsSameDays) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  SaleBackend backend(*GetParam());
  for (int i = 0; i < 200; ++i) {
    const auto near = [&](std::int64_t range) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * range)) - range;
    };
    const std::int64_t ms = near(3) * kDayMs + near(3);
    const std::int64_t offset = near(1'440);
    const Reply day = backend.client()(
        "EVAL", "return math.floor((ARGV[1] + ARGV[2] * 60000) / 86400000)", 0, ms, offset);
    EXPECT_EQ(day, Reply::integer(sale_day(ms, offset))) << ms << ' ' << offset;
  }
}

}  // namespace
}  // namespace rushgate
