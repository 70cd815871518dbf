// A correct sale passes the rush, and each common mistake is found.
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/adapters/testing/shops.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RushReport rush(const SaleUnderTest& sale, const RushOptions& options = {},
                const RushConditions& conditions = {}) {
  TestEngine engine;
  return run_rush(engine, sale, options, conditions);
}

/// So much stock that many buyers return before it is sold out.
const RushOptions kHundred{.vouchers = {{.stock = 100}}};

// ---- Correct sales ----

TEST(RunRushTest, CorrectSalePasses) {
  const RushReport report = rush(seckill(kGoodScript));
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_EQ(report.accepted, 10U);
  EXPECT_EQ(report.refused, 990U);
  EXPECT_EQ(report.text(),
            "the sale passed, seed 1: 1000 requests, 10 accepted, 990 refused, 0 failed\n");
}

TEST(RunRushTest, CorrectSaleSurvivesCrashes) {
  std::size_t crashes = 0;
  std::size_t replies_lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RushReport report =
        rush(seckill(kGoodScript), {.seed = seed}, {.crashes = 3, .ask_again = seed % 2 == 0});
    EXPECT_TRUE(report.passed()) << report;
    crashes += report.crashes;
    replies_lost += report.replies_lost;
  }
  EXPECT_GT(crashes, 40U);
  EXPECT_GT(replies_lost, 20U);
}

TEST(RunRushTest, RestockIsSoldToRefusedUsers) {
  SaleUnderTest sale = seckill(kGoodScript);
  sale.restock = add_stock;
  const RushReport report = rush(sale);
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_EQ(
      report.text(),
      "the sale passed, seed 1: 1190 requests, 20 accepted, 1170 refused, 0 failed, 10 pieces "
      "restocked\n");
}

TEST(RunRushTest, RestockLeavesSomeRefused) {
  SaleUnderTest sale = seckill(kGoodScript, 195);
  sale.restock = add_stock;
  const RushReport report = rush(sale, {.vouchers = {{.stock = 195}}});
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_EQ(report.restocked, 3) << "for five users";
}

TEST(RunRushTest, SameSeedGivesSameReport) {
  const auto report = [](std::uint64_t seed) {
    return rush(seckill(good_script_but("redis.call('DECR', KEYS[1])", "")), {.seed = seed},
                {.crashes = 2});
  };
  EXPECT_EQ(report(3), report(3));
  EXPECT_NE(report(3), report(4));
}

TEST(RunRushTest, VouchersAreJudgedByTheirTerms) {
  const RushOptions options{.vouchers = {{.id = 1, .stock = 5},
                                         {.id = 2, .stock = 500, .per_user = 0},
                                         {.id = 3, .stock = 8, .per_user = 2}}};
  SaleUnderTest sale = seckill(R"lua(
    local limit = ({1, 1000, 2})[tonumber(ARGV[2])]
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
    if redis.call('HINCRBY', KEYS[2], ARGV[1], 1) > limit then return 2 end
    redis.call('DECR', KEYS[1])
    redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
    return 0
  )lua");
  sale.prepare = [&](Client& client) {
    for (const RushVoucher& voucher : options.vouchers) put_on_sale(client, voucher);
  };
  const RushReport report = rush(sale, options);
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_GT(report.accepted, 200U);
}

// ---- Mistakes in scripts ----

TEST(RunRushTest, StockCheckedButNotTakenIsOversold) {
  const RushReport report = rush(seckill(good_script_but("redis.call('DECR', KEYS[1])", "")));
  ASSERT_THAT(report.oversold, SizeIs(1));
  EXPECT_EQ(report.oversold[0].accepted, 200);
  EXPECT_THAT(report.doubled, IsEmpty());
  EXPECT_THAT(report.text(),
              HasSubstr("oversold: voucher 1 by 190 (stock 10; 200 accepted, 200 orders)"));
  EXPECT_THAT(report.text(), HasSubstr("failed, seed 1: "));
}

TEST(RunRushTest, NegativeStockIsOversold) {
  const RushReport report = rush(seckill(good_script_but("<= 0", "< 0")));
  ASSERT_THAT(report.oversold, SizeIs(1));
  EXPECT_EQ(report.oversold[0].accepted, 11);
}

TEST(RunRushTest, MissingUserCheckIsDoubled) {
  const std::string script =
      good_script_but("SISMEMBER', KEYS[2], ARGV[1]) == 1", "SCARD', KEYS[2]) > 1000");
  const RushReport report = rush(seckill(script, 100), kHundred);
  ASSERT_FALSE(report.doubled.empty());
  EXPECT_THAT(report.oversold, IsEmpty());
  EXPECT_GT(report.doubled[0].orders, 1);
  EXPECT_THAT(report.text(), HasSubstr("doubled: user "));
}

TEST(RunRushTest, MisspelledKeyIsDoubled) {
  const std::string script = good_script_but("'SADD', KEYS[2]", "'SADD', 'buyer:' .. ARGV[2]");
  EXPECT_FALSE(rush(seckill(script, 100), kHundred).doubled.empty());
}

TEST(RunRushTest, OrderBeforeCheckIsUnfounded) {
  const RushReport report = rush(seckill(R"lua(
    redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
    if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
    redis.call('DECR', KEYS[1])
    return 0
  )lua"));
  EXPECT_GT(report.unfounded.size(), 150U);
  EXPECT_THAT(report.text(), ContainsRegex("order without a confirmation: and 1.. more\n"));
  EXPECT_THAT(report.oversold, SizeIs(1)) << "oversold by its orders";
}

TEST(RunRushTest, OrdersInShortStreamAreLost) {
  const RushReport report = rush(seckill(good_script_but("'*'", "'MAXLEN', 6, '*'")));
  EXPECT_THAT(report.lost, SizeIs(4));
  EXPECT_THAT(report.text(), HasSubstr("(1 accepted, 0 orders)"));
}

TEST(RunRushTest, MissingKeyIsErrorOfSale) {
  const RushReport report = rush(seckill(good_script_but("GET', KEYS[1]", "GET', 'stokc:1'")));
  EXPECT_EQ(report.failed, 1'000U);
  EXPECT_THAT(report.errors, ElementsAre(HasSubstr("attempt to compare nil with number")));
}

TEST(RunRushTest, BuyersForgottenTooSoonAreDoubled) {
  EXPECT_FALSE(rush(seckill(forgetful_script(), 100), kHundred).doubled.empty());
}

TEST(RunRushTest, OrdersThatExpireAreLost) {
  const std::string script =
      good_script_but("return 0", "redis.call('PEXPIRE', KEYS[3], 60000) return 0");
  EXPECT_TRUE(rush(seckill(script)).passed());
  EXPECT_THAT(rush(seckill(script), {}, {.drain_ms = 61'000}).lost, SizeIs(10));
}

TEST(RunRushTest, ExpiredStockTakenAsFullIsOversold) {
  SaleUnderTest sale = seckill(good_script_but(
      "tonumber(redis.call('GET', KEYS[1]))",
      "tonumber(redis.call('GET', KEYS[1]) or redis.call('SET', KEYS[1], 10, 'PX', 50) and 10)"));
  sale.prepare = {};
  EXPECT_THAT(rush(sale).oversold, SizeIs(1));
}

TEST(RunRushTest, UserRefusedAfterRecordingIsWithheldStock) {
  const RushReport report = rush(seckill(R"lua(
    if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
    if tonumber(ARGV[1]) % 50 > 0 then return 3 end
    redis.call('DECR', KEYS[1])
    redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
    return 0
  )lua"));
  ASSERT_THAT(report.withheld, SizeIs(1));
  EXPECT_THAT(report.text(),
              HasSubstr("withheld: voucher 1 by 6 (stock 10; 4 accepted, 4 orders)"));
}

TEST(RunRushTest, SaleMayRefuseForOwnReasons) {
  const SaleUnderTest sale =
      seckill(good_script_but("return 2 end", "return 2 end if ARGV[1] ~= '7' then return 3 end"));
  EXPECT_THAT(rush(sale).withheld, SizeIs(1));
  const RushReport report = rush(sale, {}, {.find_withheld = false});
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_EQ(report.accepted, 1U);
}

TEST(RunRushTest, LateVoucherSoldAtOnceIsTooEarly) {
  const RushOptions options{.vouchers = {{.begin_ms = 500}}};
  EXPECT_FALSE(rush(seckill(kGoodScript), options).too_early.empty());

  SaleUnderTest sale = seckill(good_script_but("return 2 end", R"lua(return 2 end
    local now = redis.call('TIME')
    if now[1] * 1000 + now[2] / 1000 < tonumber(redis.call('GET', 'begin')) then return 3 end)lua"));
  sale.prepare = [](Client& client) {
    put_on_sale(client, {});
    client("SET", "begin", ManualClock::kStartMs + 500);
  };
  const RushReport report = rush(sale, options);
  EXPECT_TRUE(report.passed()) << report;
}

// ---- Mistakes that only a restock or the buyers show ----

/// Records the buyer first.
constexpr const char* kHastyScript = R"lua(
  if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
  if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
  redis.call('DECR', KEYS[1])
  redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
  return 0
)lua";

TEST(RunRushTest, BuyerRecordedBeforeStockIsBlocked) {
  SaleUnderTest sale = seckill(kHastyScript);
  EXPECT_TRUE(rush(sale).passed());
  sale.buyers = orders_in_sets("buyers:", {1});
  const RushReport report = rush(sale);
  EXPECT_THAT(report.blocked, SizeIs(190));
  EXPECT_THAT(report.unrecorded, IsEmpty());
  EXPECT_THAT(report.text(), ContainsRegex("recorded as a buyer without an order: user [0-9]+, "
                                           "voucher 1 \\(0 accepted, 0 orders, 1 recorded\\)"));
}

TEST(RunRushTest, BuyerRecordedBeforeStockWithholdsRestock) {
  SaleUnderTest sale = seckill(kHastyScript);
  sale.restock = add_stock;
  EXPECT_THAT(rush(sale).text(),
              HasSubstr("withheld: voucher 1 by 10 (stock 20; 10 accepted, 10 orders)"));
}

TEST(RunRushTest, OrderWithoutRecordIsUnrecorded) {
  SaleUnderTest sale = seckill(good_script_but("'SADD', KEYS[2]", "'SADD', 'buyer:' .. ARGV[2]"));
  sale.buyers = orders_in_sets("buyers:", {1});
  const RushReport report = rush(sale);
  EXPECT_FALSE(report.unrecorded.empty());
  EXPECT_THAT(report.blocked, IsEmpty());
  EXPECT_THAT(report.text(), HasSubstr("order without a record of its buyer: user "));
}

TEST(RunRushTest, BuyersAreComparedWithRepliesWithoutOrders) {
  SaleUnderTest sale = seckill(kHastyScript);
  sale.buyers = orders_in_sets("buyers:", {1});
  sale.orders = {};
  EXPECT_THAT(rush(sale).blocked, SizeIs(190));
  sale.buy = seckill(kGoodScript).buy;
  EXPECT_TRUE(rush(sale, {}, {.crashes = 3}).passed());
}

TEST(RunRushTest, CountsOfBuyersAreCompared) {
  const RushOptions options{.vouchers = {{.stock = 50, .per_user = 2}}};
  const std::string script = R"lua(
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
    if redis.call('HINCRBY', KEYS[2], ARGV[1], 1) > 2 then
      redis.call('HINCRBY', KEYS[2], ARGV[1], -1)
      return 2
    end
    redis.call('DECR', KEYS[1])
    redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
    return 0
  )lua";
  SaleUnderTest sale = seckill(script, 50);
  sale.buyers = orders_in_hashes("buyers:", {1});
  sale.restock = add_stock;
  const RushReport report = rush(sale, options);
  EXPECT_TRUE(report.passed()) << report;
  sale.buy = seckill(absl::StrReplaceAll(
                         script, {{"<= 0", "<= 0 and redis.call('HINCRBY', KEYS[2], ARGV[1], 1)"}}))
                 .buy;
  EXPECT_FALSE(rush(sale, options).blocked.empty());
}

TEST(RunRushTest, OversellingBeforeRestockIsFound) {
  SaleUnderTest sale = seckill(good_script_but("<= 0", "<= -3"));
  sale.restock = [](Client& client, std::int64_t voucher, std::int64_t pieces) {
    add_stock(client, voucher, pieces - 3);
  };
  const RushReport report = rush(sale);
  ASSERT_THAT(report.oversold, SizeIs(1));
  EXPECT_EQ(report.oversold[0].accepted, 13);
  EXPECT_EQ(report.accepted, 20U) << "as many as there were";
}

// ---- Mistakes that only crashes show ----

TEST(RunRushTest, UnrecognizedRepeatHasTwoOrders) {
  const std::string script = R"lua(
    if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
    redis.call('DECR', KEYS[1])
    redis.call('SADD', KEYS[2], ARGV[3])
    redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
    return 0
  )lua";
  const std::string knowing_script =
      "if redis.call('SISMEMBER', KEYS[2], ARGV[3]) == 1 then return 0 end " + script;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RushOptions options{.seed = seed, .vouchers = {{.per_user = 0}}};
    const RushConditions conditions{.crashes = 3, .ask_again = true};
    found += rush(seckill(script), options, conditions).unfounded.size();
    const RushReport report = rush(seckill(knowing_script), options, conditions);
    EXPECT_TRUE(report.passed()) << report;
  }
  EXPECT_GT(found, 3U);
}

/// Takes from the stock by one command, and writes the order by another.
SaleUnderTest sale_of_two_commands() {
  SaleUnderTest sale = seckill("");
  sale.buy = [](const RushRequest& request, std::span<const Reply> replies) -> RushStep {
    if (replies.empty()) {
      return Request::of("EVAL", R"lua(
        if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
        if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
        redis.call('DECR', KEYS[1])
        return 0
      )lua",
                         2, "stock:1", "buyers:1", request.user);
    }
    if (replies[0] != Reply::integer(0)) return RushResult::kRefused;
    if (replies.size() == 1) {
      return Request::of("XADD", "orders", "*", "user", request.user, "voucher", request.voucher);
    }
    return replies[1].is_error() ? RushResult::kFailed : RushResult::kAccepted;
  };
  return sale;
}

TEST(RunRushTest, StockTakenBeforeCrashIsWithheld) {
  EXPECT_TRUE(rush(sale_of_two_commands()).passed());
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    found += rush(sale_of_two_commands(), {.seed = seed}, {.crashes = 3}).withheld.size();
  }
  EXPECT_GT(found, 5U);
}

// ---- Mistakes between commands ----

TEST(RunRushTest, StockReadThenTakenIsOversold) {
  SaleUnderTest sale = seckill("");
  sale.buy = [](const RushRequest& request, std::span<const Reply> replies) -> RushStep {
    switch (replies.size()) {
      case 0:
        return Request::of("SADD", "buyers", request.user);
      case 1:
        if (replies[0] == Reply::integer(0)) return RushResult::kRefused;
        return Request::of("GET", "stock:1");
      case 2:
        if (std::stoll(replies[1].text()) <= 0) return RushResult::kRefused;
        return Request::of("DECR", "stock:1");
      case 3:
        return Request::of("XADD", "orders", "*", "user", request.user, "voucher", 1);
      default:
        return RushResult::kAccepted;
    }
  };
  const RushReport report = rush(sale);
  ASSERT_THAT(report.oversold, SizeIs(1));
  EXPECT_GT(report.oversold[0].orders, 10);
}

TEST(RunRushTest, EndlessRequestIsEnded) {
  SaleUnderTest sale{.buy = [](const RushRequest&, std::span<const Reply>) -> RushStep {
    return Request::of("PING");
  }};
  const RushReport report = rush(sale, {.buyers = 1, .requests = 1, .robots = 0});
  EXPECT_THAT(report.errors, ElementsAre("request 0 does not come to an end"));
}

// ---- Orders ----

TEST(RunRushTest, OrdersMayBeKeptInSets) {
  SaleUnderTest sale = seckill(kGoodScript);
  sale.orders = orders_in_sets("buyers:", {1});
  EXPECT_TRUE(rush(sale).passed());
}

TEST(RunRushTest, UnreadableOrdersAreError) {
  SaleUnderTest sale = seckill(kGoodScript);
  sale.orders = orders_in_stream("orders", "userId", "voucher");
  EXPECT_THAT(rush(sale).errors,
              Contains(HasSubstr(
                  "the orders cannot be read: orders: no number in the field 'userId' of [")));
  sale.orders = orders_in_stream("buyers:1", "user", "voucher");
  EXPECT_THAT(rush(sale).errors, Contains(HasSubstr("WRONGTYPE")));
}

TEST(RunRushTest, UnreadableBuyersAreError) {
  SaleUnderTest sale = seckill(kGoodScript);
  sale.buyers = orders_in_sets("stock:", {1});
  EXPECT_THAT(rush(sale).errors, ElementsAre(HasSubstr("the buyers cannot be read: stock:1: ")));
  sale.buyers = orders_in_hashes("counts:", {1});
  for (const char* const count : {"", "x", "-1", "1000001"}) {
    sale.prepare = [count](Client& client) {
      put_on_sale(client, {});
      client("HSET", "counts:1", 7, count);
    };
    EXPECT_THAT(rush(sale).errors, ElementsAre(HasSubstr("the buyers cannot be read: counts:1: ")));
  }
}

TEST(RunRushTest, RepliesAreJudgedWithoutOrders) {
  SaleUnderTest sale = seckill(good_script_but("redis.call('DECR', KEYS[1])", ""));
  sale.orders = {};
  const RushReport report = rush(sale);
  EXPECT_THAT(report.oversold, SizeIs(1));
  EXPECT_THAT(report.lost, IsEmpty());
}

TEST(RunRushTest, SenselessConditionsAreRefused) {
  TestEngine engine;
  const RushConditions conditions[] = {
      {.pause_ms_max = -1},
      {.pause_ms_max = std::numeric_limits<std::int64_t>::max()},
      {.crashes = std::size_t{1} << 63},
      {.drain_ms = -1},
  };
  for (const RushConditions& wrong : conditions) {
    EXPECT_THROW(run_rush(engine, seckill(kGoodScript), {}, wrong), std::invalid_argument);
  }
  EXPECT_THROW(run_rush(engine, SaleUnderTest{}), std::invalid_argument);
  EXPECT_THROW(by_script("return 0", nullptr, accepted_if(Reply::integer(0))),
               std::invalid_argument);
}

TEST(RunRushTest, FailureReportShowsMostFrequentReplies) {
  TestEngine engine;
  const RushReport report =
      run_rush(engine, seckill(good_script_but("return 0", "return 'ok'")), {.requests = 300});
  EXPECT_EQ(report.accepted, 0U);
  ASSERT_GE(report.replies.size(), 2U);
  EXPECT_GE(report.replies[0].times, report.replies[1].times);
  EXPECT_THAT(report.text(), HasSubstr("10 times refused: \"ok\"\n"));
}

TEST(RunRushTest, RefusalsAreReportedDespiteDistinctAcceptances) {
  TestEngine engine;
  SaleUnderTest sale = seckill(kGoodScript, 1'500);
  sale.buy = by_script(good_script_but("return 0", "return {ok = ARGV[3]}"), seckill_arguments,
                       [](const Reply& reply) {
                         const bool is_yes = reply.kind() == Reply::Kind::kStatus;
                         return is_yes ? RushResult::kAccepted : RushResult::kRefused;
                       });
  const RushReport report =
      run_rush(engine, sale, {.buyers = 2'000, .requests = 4'000, .vouchers = {{.stock = 1'500}}});
  EXPECT_EQ(report.accepted, 1'500U);
  ASSERT_FALSE(report.replies.empty());
  EXPECT_EQ(report.replies.front().result, RushResult::kRefused);
}

TEST(RushAnswerTest, EachValueHasItsName) {
  EXPECT_EQ(rush_result_name(RushResult::kAccepted), "accepted");
  EXPECT_EQ(rush_result_name(RushResult::kRefused), "refused");
  EXPECT_EQ(rush_result_name(RushResult::kFailed), "failed");
}

}  // namespace
}  // namespace rushgate::testing
