// Limits that one script checks and counts, and the three limits of a coupon.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/limits.h>

namespace rushgate {
namespace {

class CountedLimitsTest : public RecipeTest {
 protected:
  std::int64_t take(const std::vector<CountedLimit>& wanted, std::int64_t amount = 1) {
    const auto code = limits_.take(wanted, amount);
    EXPECT_TRUE(code.ok()) << code.status();
    return code.value_or(-1);
  }
  std::string count(const std::string& key, const std::string& field) {
    return (*client_)("HGET", key, field).text();
  }

  CountedLimits limits_{*backend_};
};

INSTANTIATE_TEST_SUITE_P(Backends, CountedLimitsTest, all_recipe_kinds(), recipe_name);

TEST_P(CountedLimitsTest, FirstReachedLimitGivesCode) {
  const std::vector<CountedLimit> wanted = {
      {.key = "a", .field = "u", .maximum = 2, .code = 11},
      {.key = "b", .field = "u", .maximum = 1, .code = 12},
  };
  EXPECT_EQ(take(wanted), 0);
  EXPECT_EQ(take(wanted), 12);
  EXPECT_EQ(count("a", "u"), "1") << "a refusal counts nothing";
  EXPECT_EQ(take({wanted[0]}), 0);
  EXPECT_EQ(take(wanted), 11);
}

TEST_P(CountedLimitsTest, AmountCountsAsWhole) {
  const std::vector<CountedLimit> wanted = {{.key = "a", .field = "u", .maximum = 5, .code = 1}};
  EXPECT_EQ(take(wanted, 3), 0);
  EXPECT_EQ(take(wanted, 3), 1);
  EXPECT_EQ(take(wanted, 2), 0);
}

TEST_P(CountedLimitsTest, GiveBackNeverExceedsCount) {
  const std::vector<CountedLimit> wanted = {{.key = "a", .field = "u", .maximum = 2, .code = 1},
                                            {.key = "b", .field = "u", .maximum = 2, .code = 2}};
  EXPECT_EQ(take(wanted), 0);
  EXPECT_EQ(take(wanted), 0);
  EXPECT_EQ(limits_.give_back(wanted), absl::OkStatus());
  EXPECT_EQ(count("a", "u"), "1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limits_.give_back(wanted), absl::OkStatus());
  EXPECT_EQ((*client_)("EXISTS", "a", "b"), Reply::integer(0)) << "nothing stays behind";
}

TEST_P(CountedLimitsTest, HashExpiresAfterLifetimeOfFirstCount) {
  const std::vector<CountedLimit> wanted = {
      {.key = "a", .field = "u", .maximum = 1, .code = 1, .lifetime_ms = 1'000}};
  EXPECT_EQ(take(wanted), 0);
  advance_ms(900);
  EXPECT_EQ(take(wanted), 1);
  advance_ms(101);
  EXPECT_EQ(take(wanted), 0);
}

TEST_P(CountedLimitsTest, ErrorCountsNothing) {
  (*client_)("SET", "text", "x");
  (*client_)("HSET", "words", "u", "many");
  const CountedLimit good = {.key = "a", .field = "u", .maximum = 9, .code = 1};
  EXPECT_EQ(limits_
                .take(std::vector{
                    good, CountedLimit{.key = "text", .field = "u", .maximum = 9, .code = 2}})
                .status()
                .code(),
            absl::StatusCode::kInternal);
  const auto words = limits_.take(
      std::vector{good, CountedLimit{.key = "words", .field = "u", .maximum = 9, .code = 2}});
  EXPECT_THAT(std::string(words.status().message()), ::testing::HasSubstr("words"));
  EXPECT_EQ((*client_)("EXISTS", "a"), Reply::integer(0));
}

TEST_P(CountedLimitsTest, WrongLimitIsNamed) {
  const CountedLimit good = {.key = "a", .field = "u", .maximum = 1, .code = 1};
  CountedLimit no_code = good;
  no_code.code = 0;
  CountedLimit negative = good;
  negative.maximum = -1;
  for (const auto& wrong : {std::vector<CountedLimit>{}, std::vector{good, good},
                            std::vector{no_code}, std::vector{negative}}) {
    const auto code = limits_.take(wrong);
    EXPECT_EQ(code.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(code.status().message()), ::testing::HasSubstr("counted limits: "));
  }
  EXPECT_EQ(limits_.take(std::vector{good}, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

/// The classic way reads, decides and counts in separate steps.
TEST_P(CountedLimitsTest, CheckAndCountAreOneStep) {
  Client& client = *client_;
  const auto is_below_one = [&] { return client("HGET", "wrong", "u").is_nil(); };
  const bool first = is_below_one();
  const bool second = is_below_one();  // before the first one has counted
  if (first) client("HINCRBY", "wrong", "u", 1);
  if (second) client("HINCRBY", "wrong", "u", 1);
  EXPECT_EQ(count("wrong", "u"), "2") << "the wrong way grants one too many";

  const std::vector<CountedLimit> wanted = {
      {.key = "right", .field = "u", .maximum = 1, .code = 1}};
  EXPECT_EQ(take(wanted), 0);
  EXPECT_EQ(take(wanted), 1);
}

class CouponLimitsTest : public RecipeTest {
 protected:
  CouponLimits::Code take(std::int64_t user) {
    const auto code = limits_.take(coupon_, user);
    EXPECT_TRUE(code.ok()) << code.status();
    return code.value_or(CouponLimits::kGranted);
  }
  /// Returns true if the test can move the clock. The client's clock determines the day.
  [[nodiscard]] bool can_move_days() const { return GetParam() != RecipeKind::kRedis; }

  const Coupon coupon_ = {.id = 7, .per_user_and_day = 1, .per_user = 2, .total = 3};
  CouponLimits limits_{*backend_};
};

INSTANTIATE_TEST_SUITE_P(Backends, CouponLimitsTest, all_recipe_kinds(), recipe_name);

TEST_P(CouponLimitsTest, DayLimitIsKept) {
  EXPECT_EQ(take(1), CouponLimits::kGranted);
  EXPECT_EQ(take(1), CouponLimits::kReachedPerDay);
}

TEST_P(CouponLimitsTest, TotalLimitIsKept) {
  for (int user = 1; user <= 3; ++user) EXPECT_EQ(take(user), CouponLimits::kGranted);
  EXPECT_EQ(take(4), CouponLimits::kSoldOut);
}

/// The classic way uses one hash name for all users.
TEST_P(CouponLimitsTest, LimitOfUserIsNotShared) {
  CountedLimits limits(*backend_);
  const auto wrong = [&](std::int64_t coupon) {
    return *limits.take(std::vector<CountedLimit>{
        {.key = "coupon_user_count", .field = std::to_string(coupon), .maximum = 2, .code = 2}});
  };
  EXPECT_EQ(wrong(7), 0);  // one user
  EXPECT_EQ(wrong(7), 0);  // another
  EXPECT_EQ(wrong(7), 2) << "the third has none yet, and is refused";

  for (int user = 1; user <= 3; ++user) EXPECT_EQ(take(user), CouponLimits::kGranted);
}

TEST_P(CouponLimitsTest, GivenBackCouponCanBeTakenAgain) {
  const std::int64_t taken_at_ms = backend_->clock().now_ms();
  EXPECT_EQ(take(1), CouponLimits::kGranted);
  EXPECT_EQ(limits_.give_back(coupon_, 1, taken_at_ms), absl::OkStatus());
  EXPECT_EQ(take(1), CouponLimits::kGranted);
}

TEST_P(CouponLimitsTest, OffsetOfNoPlaceIsRefused) {
  for (const std::int64_t minutes : {-721, 841, 1'000}) {
    CouponLimits limits(*backend_, {.key_prefix = "c:", .utc_offset_minutes = minutes});
    const auto code = limits.take(coupon_, 1);
    EXPECT_EQ(code.status(),
              absl::InvalidArgumentError(absl::StrCat(
                  "utc_offset_minutes must be from -720 to 840 (minutes), not ", minutes)));
  }
}

TEST_P(CouponLimitsTest, DayBeginsAtLocalMidnight) {
  if (!can_move_days()) return;  // the client applies this rule, on every backend the same
  constexpr std::int64_t kOffsetMinutes = 8 * 60;
  CouponLimits limits(*backend_, {.key_prefix = "c:", .utc_offset_minutes = kOffsetMinutes});
  const std::int64_t local_ms = clock_.now_ms() + kOffsetMinutes * 60'000;
  const std::int64_t until_midnight_ms = kDayMs - local_ms % kDayMs;
  EXPECT_EQ(*limits.take(coupon_, 1), CouponLimits::kGranted);
  advance_ms(until_midnight_ms - 1);
  EXPECT_EQ(*limits.take(coupon_, 1), CouponLimits::kReachedPerDay);
  advance_ms(1);
  EXPECT_EQ(*limits.take(coupon_, 1), CouponLimits::kGranted);
  advance_ms(kDayMs);
  EXPECT_EQ(*limits.take(coupon_, 1), CouponLimits::kReachedPerUser);
}

}  // namespace
}  // namespace rushgate
