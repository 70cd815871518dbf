// The limit per user and day when the clock goes back over midnight.
#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class DayLimitTest : public SaleTest {
 protected:
  void check_that_orders_count_for_the_day_of_their_entries(Backend& keyspace) {
    const std::int64_t midnight_ms = (backend_.clock().now_ms() / kDayMs + 1) * kDayMs;
    backend_.set_now_ms(midnight_ms + kMinuteMs);
    const auto sale = open_sale(keyspace);
    ASSERT_EQ(sale->publish({.id = 1,
                             .title = "voucher",
                             .stock = 100,
                             .begin_ms = midnight_ms - kDayMs,
                             .end_ms = midnight_ms + 5 * kDayMs,
                             .limits = {.per_user = 0, .per_user_day = 1}}),
              absl::OkStatus());
    const auto outcome = [&](std::int64_t user) { return sale->buy(1, user).outcome; };
    EXPECT_EQ(outcome(1), Outcome::kAccepted);
    backend_.set_now_ms(midnight_ms - kMinuteMs);  // yesterday; ids only ascend
    EXPECT_EQ(outcome(2), Outcome::kAccepted);
    EXPECT_EQ(outcome(2), Outcome::kDayLimitReached);
    backend_.set_now_ms(midnight_ms + 2 * kMinuteMs);
    EXPECT_EQ(outcome(1), Outcome::kDayLimitReached);
    EXPECT_EQ(outcome(2), Outcome::kDayLimitReached);
    backend_.set_now_ms(midnight_ms + kDayMs);
    EXPECT_EQ(outcome(1), Outcome::kAccepted);
    EXPECT_EQ(outcome(2), Outcome::kAccepted);
    drain();
    expect_audit_passes();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, DayLimitTest, each_backend(), backend_name);

TEST_P(DayLimitTest, OrderCountsForEntrysDay) {
  check_that_orders_count_for_the_day_of_their_entries(backend_.keyspace());
}

TEST_P(DayLimitTest, LuaScriptCountsForEntrysDay) {
  LuaOnlyBackend lua_only(backend_.keyspace());
  check_that_orders_count_for_the_day_of_their_entries(lua_only);
}

}  // namespace
}  // namespace rushgate
