#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include <gmock/gmock.h>

#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

TEST(RushTest, EveryBuyerComesAndManyReturn) {
  const auto rush = make_rush({.buyers = 50, .requests = 500, .robots = 2, .robot_requests = 60});
  ASSERT_EQ(rush.size(), 500U);
  std::map<std::int64_t, int> requests_of;
  for (const RushRequest& request : rush) ++requests_of[request.user];
  EXPECT_EQ(requests_of.size(), 50U);
  EXPECT_EQ(requests_of.begin()->first, 1);
  EXPECT_EQ(requests_of.rbegin()->first, 50);
  for (const std::int64_t robot : {1, 2}) EXPECT_GT(requests_of[robot], 60);
  EXPECT_LT(requests_of[3], 60);
}

TEST(RushTest, RequestsAreInOrderAndMostlyEarly) {
  const auto rush = make_rush({.span_ms = 1'000, .buyers = 400, .robots = 0});
  EXPECT_TRUE(std::ranges::is_sorted(rush, {}, &RushRequest::at_ms));
  for (std::size_t i = 0; i < rush.size(); ++i) EXPECT_EQ(rush[i].number, i);
  EXPECT_GE(rush.front().at_ms, 0);
  EXPECT_LT(rush.back().at_ms, 1'000);
  EXPECT_LT(rush[rush.size() / 2].at_ms, 400);
}

TEST(RushTest, VouchersHaveSharesAndLateOneComesLate) {
  const auto rush =
      make_rush({.span_ms = 1'000,
                 .buyers = 1'000,
                 .requests = 10'000,
                 .vouchers = {{.id = 7, .share = 3}, {.id = 8, .share = 1, .begin_ms = 600}}});
  const auto late = std::ranges::count(rush, 8, &RushRequest::voucher);
  EXPECT_GT(late, 2'000);
  EXPECT_LT(late, 3'000);
  const auto too_early = std::ranges::count_if(
      rush, [](const RushRequest& request) { return request.voucher == 8 && request.at_ms < 600; });
  EXPECT_GT(too_early, late / 8);
  EXPECT_LT(too_early, late / 3);
}

TEST(RushTest, RushDependsOnlyOnSeed) {
  EXPECT_EQ(make_rush({.seed = 3}), make_rush({.seed = 3}));
  EXPECT_NE(make_rush({.seed = 3}), make_rush({.seed = 4}));
  const auto first = make_rush({.seed = 3}).front();
  EXPECT_EQ(first, (RushRequest{.number = 0, .at_ms = 0, .user = 149, .voucher = 1}))
      << "the same on every machine";
}

TEST(RushTest, ContradictoryOptionsAreRefused) {
  EXPECT_THROW(make_rush({.vouchers = {}}), std::invalid_argument);
  EXPECT_THROW(make_rush({.buyers = 200, .requests = 199}), std::invalid_argument);
  EXPECT_THROW(make_rush({.buyers = 1, .robots = 2}), std::invalid_argument);
  EXPECT_THROW(make_rush({.span_ms = 100, .vouchers = {{.begin_ms = 100}}}), std::invalid_argument);
  EXPECT_TRUE(make_rush({.buyers = 0, .requests = 0, .robots = 0}).empty());
}

TEST(RushTest, SenselessOptionsAreRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const RushOptions options[] = {
      {.span_ms = 0},
      {.span_ms = kHuge},
      {.buyers = -1, .requests = 0, .robots = 0},
      {.requests = 1'000'000'000'000'000},
      {.requests = 100, .robots = 2, .robot_requests = std::numeric_limits<std::size_t>::max() / 2},
      {.robot_gap_ms = -1},
      {.robot_gap_ms = kHuge},
      {.vouchers = {{.id = 1}, {.id = 1}}},
      {.vouchers = {{.stock = -1}}},
      {.vouchers = {{.stock = kHuge}}},
      {.vouchers = {{.per_user = -1}}},
      {.vouchers = {{.share = 0}}},
      {.vouchers = {{.share = kHuge}}},
      {.vouchers = {{.begin_ms = -1}}},
  };
  for (const RushOptions& wrong : options) {
    EXPECT_THROW(make_rush(wrong), std::invalid_argument) << (&wrong - options);
  }
}

}  // namespace
}  // namespace rushgate::testing
