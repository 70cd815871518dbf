// The crowd of docs/testing-with-rushgate.md finds the faults that are often made. The page lists
// them.
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/adapters/testing/shops.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

using ::testing::HasSubstr;

// ---- The documented crowd ----

constexpr std::int64_t kLate = 8;  // the voucher that begins a second after the rush
constexpr std::int64_t kLateMs = 1'000;
constexpr std::uint64_t kSeeds = 20;

const RushOptions kCrowd = {
    .span_ms = 2'000,
    .buyers = 300,
    .requests = 2'000,
    .vouchers = {{.id = 7, .stock = 50}, {.id = kLate, .stock = 5, .begin_ms = kLateMs}},
};

/// Returns KEYS stock, buyers, orders, sold out; and ARGV user, voucher, begin of the sale in ms.
ScriptArguments crowd_arguments(const RushRequest& request) {
  const std::string voucher = absl::StrCat(request.voucher);
  const std::int64_t begin_ms = ManualClock::kStartMs + (request.voucher == kLate ? kLateMs : 0);
  return {.keys = {"stock:" + voucher, "buyers:" + voucher, "orders", "soldout:" + voucher},
          .arguments = {absl::StrCat(request.user), voucher, absl::StrCat(begin_ms)}};
}

SaleUnderTest shop() {
  return {
      .prepare =
          [](Client& client) {
            for (const RushVoucher& voucher : kCrowd.vouchers) put_on_sale(client, voucher);
          },
      .orders = orders_in_stream("orders", "user", "voucher"),
      .buyers = orders_in_sets("buyers:", {7, kLate}),
      .restock = add_stock,
  };
}

SaleUnderTest shop_by_script(const std::string& checks_and_writes) {
  SaleUnderTest sale = shop();
  sale.buy = by_script(absl::StrCat(R"lua(
    local stock, buyers, orders, soldout = unpack(KEYS)
    local user, voucher, begin_ms = unpack(ARGV)
    local time = redis.call('TIME')
    local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
    local function left() return tonumber(redis.call('GET', stock) or 0) end
    local function has_bought() return redis.call('SISMEMBER', buyers, user) == 1 end
    local function record() redis.call('SADD', buyers, user) end
    local function take() redis.call('DECR', stock) end
    local function order() redis.call('XADD', orders, '*', 'user', user, 'voucher', voucher) end
  )lua",
                                    checks_and_writes),
                       crowd_arguments, accepted_if(Reply::integer(0)));
  return sale;
}

/// As shop_by_script(), for a script that counts each user's orders in a hash.
SaleUnderTest shop_by_counting_script(const std::string& checks_and_writes) {
  SaleUnderTest sale = shop_by_script(checks_and_writes);
  sale.buyers = orders_in_hashes("buyers:", {7, kLate});
  return sale;
}

/// The purchase of one user by several commands.
struct Purchase {
  const RushRequest& request;
  std::span<const Reply> replies;
  std::string stock = absl::StrCat("stock:", request.voucher);
  std::string buyers = absl::StrCat("buyers:", request.voucher);
  std::string lock = absl::StrCat("lock:", request.voucher);

  [[nodiscard]] Request order() const {
    return Request::of("XADD", "orders", "*", "user", request.user, "voucher", request.voucher);
  }
};

SaleUnderTest shop_by_commands(std::function<RushStep(const Purchase&)> next) {
  SaleUnderTest sale = shop();
  sale.buy = [next = std::move(next)](const RushRequest& request,
                                      std::span<const Reply> replies) -> RushStep {
    if (request.voucher == kLate && request.at_ms < kLateMs) return RushResult::kRefused;
    return next({.request = request, .replies = replies});
  };
  return sale;
}

/// Returns the report of the first rush that fails, or of the last one.
RushReport first_failed_rush(const SaleUnderTest& sale) {
  RushReport report;
  for (RushOptions rush = kCrowd; rush.seed <= kSeeds; ++rush.seed) {
    TestEngine engine;
    report = run_rush(engine, sale, rush, {.crashes = 3});
    if (!report.passed()) break;
  }
  return report;
}

// ---- Right sales ----

struct RightSale {
  const char* name;
  SaleUnderTest sale;
  friend void PrintTo(const RightSale& printed, std::ostream* out) { *out << printed.name; }
};

class RightSalesTest : public ::testing::TestWithParam<RightSale> {};

TEST_P(RightSalesTest, DocumentedCrowdPasses) {
  const RushReport report = first_failed_rush(GetParam().sale);
  EXPECT_TRUE(report.passed()) << report;
  EXPECT_EQ(report.restocked, 55);
  EXPECT_LE(report.accepted, 110U);
  EXPECT_GE(report.accepted + report.replies_lost, 110U);
}

INSTANTIATE_TEST_SUITE_P(Shop, RightSalesTest,
                         ::testing::Values(RightSale{"ChecksFirst", shop_by_script(R"lua(
                        if now_ms < tonumber(begin_ms) then return 3 end
                        if left() <= 0 then return 1 end
                        if has_bought() then return 2 end
                        take() record() order()
                        return 0
                      )lua")},
                                           RightSale{"GivesBack", shop_by_counting_script(R"lua(
                        if now_ms < tonumber(begin_ms) then return 3 end
                        if redis.call('HINCRBY', buyers, user, 1) > 1 then
                          redis.call('HINCRBY', buyers, user, -1)
                          return 2
                        end
                        if redis.call('DECR', stock) < 0 then
                          redis.call('INCR', stock)
                          redis.call('HINCRBY', buyers, user, -1)
                          return 1
                        end
                        order()
                        return 0
                      )lua")}),
                         [](const auto& sale) { return std::string(sale.param.name); });

// ---- Wrong sales ----

struct WrongSale {
  const char* name;
  const char* found;  // the words of the report
  SaleUnderTest sale;
  friend void PrintTo(const WrongSale& printed, std::ostream* out) { *out << printed.name; }
};

class WrongSalesTest : public ::testing::TestWithParam<WrongSale> {};

TEST_P(WrongSalesTest, DocumentedCrowdFindsFault) {
  const RushReport report = first_failed_rush(GetParam().sale);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.text(), HasSubstr(absl::StrCat("  ", GetParam().found, ": ")));
}

const WrongSale kWrongScripts[] = {
    {"BuyerRecordedBeforeStockCheck", "recorded as a buyer without an order", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if redis.call('SADD', buyers, user) == 0 then return 2 end
      if left() <= 0 then return 1 end
      take() order()
      return 0
    )lua")},
    {"CountedBeforeStockCheck", "recorded as a buyer without an order",
     shop_by_counting_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if redis.call('HINCRBY', buyers, user, 1) > 1 then
        redis.call('HINCRBY', buyers, user, -1)
        return 2
      end
      if left() <= 0 then return 1 end
      take() order()
      return 0
    )lua")},
    {"StockTakenBeforeBuyerCheck", "withheld", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      take()
      if has_bought() then return 2 end
      record() order()
      return 0
    )lua")},
    {"StockBelowZero", "withheld", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if has_bought() then return 2 end
      if redis.call('DECR', stock) < 0 then return 1 end
      record() order()
      return 0
    )lua")},
    {"SoldOutMarkStays", "withheld", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if redis.call('EXISTS', soldout) == 1 then return 1 end
      if has_bought() then return 2 end
      take() record() order()
      if left() == 0 then redis.call('SET', soldout, 1) end
      return 0
    )lua")},
    {"UsersShareOneLimit", "withheld", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if redis.call('HINCRBY', 'counts', voucher, 1) > 1 then return 2 end
      take() record() order()
      return 0
    )lua")},
    {"LastPieceWithoutOrder", "lost", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record()
      if left() == 0 then return 0 end
      order()
      return 0
    )lua")},
    {"StreamTooShort", "lost", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record()
      redis.call('XADD', orders, 'MAXLEN', 20, '*', 'user', user, 'voucher', voucher)
      return 0
    )lua")},
    {"OrderBeforeChecks", "order without a confirmation", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      order()
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record()
      return 0
    )lua")},
    {"TimeAsOrderId", "error", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record()
      redis.call('XADD', orders, now_ms .. '-1', 'user', user, 'voucher', voucher)
      return 0
    )lua")},
    {"SecondsAsMilliseconds", "order without a record of its buyer", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record() order()
      redis.call('PEXPIRE', buyers, 60)
      return 0
    )lua")},
    {"MisspelledKey", "order without a record of its buyer", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      redis.call('SADD', 'buyer:' .. voucher, user)
      take() order()
      return 0
    )lua")},
    {"ExpiredStockLoadedAsFull", "oversold", shop_by_script(R"lua(
      if now_ms < tonumber(begin_ms) then return 3 end
      if redis.call('EXISTS', stock) == 0 then redis.call('SET', stock, voucher == '7' and 50 or 5) end
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record() order()
      redis.call('PEXPIRE', stock, 100)
      return 0
    )lua")},
    {"BeginNotChecked", "sold too early", shop_by_script(R"lua(
      if left() <= 0 then return 1 end
      if has_bought() then return 2 end
      take() record() order()
      return 0
    )lua")},
};
INSTANTIATE_TEST_SUITE_P(Scripts, WrongSalesTest, ::testing::ValuesIn(kWrongScripts),
                         [](const auto& sale) { return std::string(sale.param.name); });

const WrongSale kWrongCommands[] = {
    {"StockReadThenTaken", "oversold", shop_by_commands([](const Purchase& buy) -> RushStep {
       switch (buy.replies.size()) {
         case 0:
           return Request::of("SISMEMBER", buy.buyers, buy.request.user);
         case 1:
           if (buy.replies[0] == Reply::integer(1)) return RushResult::kRefused;
           return Request::of("GET", buy.stock);
         case 2:
           if (std::stoll(buy.replies[1].text()) <= 0) return RushResult::kRefused;
           return Request::of("DECR", buy.stock);
         case 3:
           return Request::of("SADD", buy.buyers, buy.request.user);
         case 4:
           return buy.order();
         default:
           return RushResult::kAccepted;
       }
     })},
    {"OrderWrittenByLaterCommand", "recorded as a buyer without an order",
     shop_by_commands([](const Purchase& buy) -> RushStep {
       switch (buy.replies.size()) {
         case 0:
           return Request::of("EVAL", R"lua(
             if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
             if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
             return redis.call('DECR', KEYS[1]) * 0
           )lua",
                              2, buy.stock, buy.buyers, buy.request.user);
         case 1:
           if (buy.replies[0] != Reply::integer(0)) return RushResult::kRefused;
           return buy.order();
         default:
           return RushResult::kAccepted;
       }
     })},
    {"StockGivenBackTwice", "oversold", shop_by_commands([](const Purchase& buy) -> RushStep {
       const bool is_sold_out = buy.replies.size() > 1 && buy.replies[1].integer() < 0;
       switch (buy.replies.size()) {
         case 0:
           return Request::of("SADD", buy.buyers, buy.request.user);
         case 1:
           if (buy.replies[0] == Reply::integer(0)) return RushResult::kRefused;
           return Request::of("DECR", buy.stock);
         case 2:
           return is_sold_out ? Request::of("SREM", buy.buyers, buy.request.user) : buy.order();
         case 3:
         case 4:
           if (!is_sold_out) return RushResult::kAccepted;
           return Request::of("INCR", buy.stock);
         default:
           return RushResult::kRefused;
       }
     })},
    {"LockReleasedByAnother", "oversold", shop_by_commands([](const Purchase& buy) -> RushStep {
       constexpr int kLeaseMs = 5;
       const bool is_locked = !buy.replies.empty() && !buy.replies[0].is_nil();
       const auto left = [&] { return std::stoll(buy.replies[2].text()); };
       const bool may_buy =
           buy.replies.size() > 2 && buy.replies[1] == Reply::integer(0) && left() > 0;
       switch (buy.replies.size()) {
         case 0:
           return Request::of("SET", buy.lock, "locked", "NX", "PX", kLeaseMs);
         case 1:
           if (!is_locked) return RushResult::kRefused;
           return Request::of("SISMEMBER", buy.buyers, buy.request.user);
         case 2:
           return Request::of("GET", buy.stock);
         case 3:
           if (!may_buy) return Request::of("DEL", buy.lock);
           return Request::of("SET", buy.stock, left() - 1);
         case 4:
           if (!may_buy) return RushResult::kRefused;
           return Request::of("SADD", buy.buyers, buy.request.user);
         case 5:
           return buy.order();
         case 6:
           return Request::of("DEL", buy.lock);
         default:
           return RushResult::kAccepted;
       }
     })},
};
INSTANTIATE_TEST_SUITE_P(Commands, WrongSalesTest, ::testing::ValuesIn(kWrongCommands),
                         [](const auto& sale) { return std::string(sale.param.name); });

}  // namespace
}  // namespace rushgate::testing
