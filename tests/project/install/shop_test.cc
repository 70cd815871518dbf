#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <rushgate/testing.h>
#include <rushgate/testing_rush.h>
#include <rushgate/testing_stores.h>

using namespace rushgate::testing;
using rushgate::Client;
using rushgate::Reply;
using rushgate::Request;

// The script under test. KEYS: stock, buyers, orders. ARGV: user, voucher, begin of the sale.
const std::string kBuy = R"lua(
  local time = redis.call('TIME')
  if time[1] * 1000 + time[2] / 1000 < tonumber(ARGV[3]) then return 3 end
  if tonumber(redis.call('GET', KEYS[1]) or 0) <= 0 then return 1 end
  if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 2 end
  redis.call('DECR', KEYS[1])
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
  return 0
)lua";

// ---- One call after another ----

class ShopTest : public EngineTest {
 protected:
  Reply buy(int user) {
    return eval(kBuy, {"stock:7", "buyers:7", "orders"},
                {std::to_string(user), "7", std::to_string(begin_ms_)});
  }

  const std::int64_t begin_ms_ = engine_.now_ms() + 60'000;
};

TEST_F(ShopTest, SaleBeginsOnTheMinute) {
  call("SET", "stock:7", 2);
  advance_ms(59'999);
  EXPECT_THAT(buy(1001), IsInteger(3));
  advance_ms(1);
  EXPECT_THAT(buy(1001), IsInteger(0));
  EXPECT_THAT(buy(1001), IsInteger(2));
  EXPECT_THAT(buy(1002), IsInteger(0));
  EXPECT_THAT(buy(1003), IsInteger(1));
  EXPECT_THAT(call("SMEMBERS", "buyers:7"),
              IsArray(::testing::UnorderedElementsAre(IsText("1001"), IsText("1002"))));
}

TEST_F(ShopTest, WaitingWorkerGetsOrder) {
  call("SET", "stock:7", 1);
  advance_ms(60'000);
  const PendingReply read = engine_.start("XREAD", "BLOCK", 500, "STREAMS", "orders", "$");
  EXPECT_FALSE(read.has_reply());
  buy(1001);
  EXPECT_THAT(read.reply(), IsArray(::testing::SizeIs(1)));

  const PendingReply in_vain = engine_.start("XREAD", "BLOCK", 500, "STREAMS", "orders", "$");
  advance_ms(500);
  EXPECT_THAT(in_vain.reply(), IsNil());
}

TEST_F(ShopTest, ReplySurvivesProcess) {
  call("SET", "stock:7", 5);
  advance_ms(60'000);
  buy(1001);
  engine_.store().fail_commit(1, rushgate::faults::FaultyStore::Kept::kNo);
  EXPECT_THAT(buy(1002), IsError("OUTCOMEUNKNOWN"));
  restart();
  EXPECT_THAT(call("GET", "stock:7"), IsText("4"));
  EXPECT_THAT(call("XLEN", "orders"), IsInteger(1));
}

// ---- Over a bad network ----

TEST_F(ShopTest, BadNetworkSellsOnce) {
  using rushgate::faults::FaultyBackend;
  using Fault = FaultyBackend::Fault;
  call("SET", "stock:7", 2);
  advance_ms(60'000);
  Fault fault = Fault::kNone;  // of the next request
  FaultyBackend network(
      engine_.engine(), [&](const Request&) { return std::exchange(fault, Fault::kNone); },
      [this](const Request&) { advance_ms(5'000); });
  const auto client = network.open_client();
  const auto buy_over_network = [&](int user) {
    return (*client)("EVAL", kBuy, 3, "stock:7", "buyers:7", "orders", user, 7, begin_ms_);
  };

  fault = Fault::kRequestLost;
  EXPECT_THAT(buy_over_network(1001), IsError("CLOSED"));
  EXPECT_THAT(call("XLEN", "orders"), IsInteger(0));

  fault = Fault::kReplyLost;
  EXPECT_THAT(buy_over_network(1001), IsError("OUTCOMEUNKNOWN"));
  EXPECT_THAT(buy_over_network(1001), IsInteger(2));  // the repetition reports the purchase

  fault = Fault::kSentTwice;
  EXPECT_THAT(buy_over_network(1002), IsInteger(1));  // sold out, by its own first copy
  EXPECT_THAT(call("SMEMBERS", "buyers:7"), IsArray(::testing::SizeIs(2)));

  fault = Fault::kReplyLate;
  EXPECT_THAT(buy_over_network(1003), IsInteger(1));  // 5 seconds after the request
  EXPECT_THAT(call("XLEN", "orders"), IsInteger(2));
}

// ---- A crowd ----

const RushOptions kRush = {
    .span_ms = 2'000,
    .buyers = 300,
    .requests = 2'000,
    .vouchers = {{.id = 7, .stock = 50}, {.id = 8, .stock = 5, .begin_ms = 1'000}},
};

SaleUnderTest shop(std::int64_t now_ms) {
  return {
      .prepare =
          [](Client& client) {
            for (const RushVoucher& voucher : kRush.vouchers) {
              client("SET", "stock:" + std::to_string(voucher.id), voucher.stock);
            }
          },
      .buy = by_script(
          kBuy,
          [now_ms](const RushRequest& request) -> ScriptArguments {
            const std::string voucher = std::to_string(request.voucher);
            const std::int64_t begin_ms = now_ms + (request.voucher == 8 ? 1'000 : 0);
            return {.keys = {"stock:" + voucher, "buyers:" + voucher, "orders"},
                    .arguments = {std::to_string(request.user), voucher, std::to_string(begin_ms)}};
          },
          accepted_if(Reply::integer(0))),
      .orders = orders_in_stream("orders", "user", "voucher"),
      .buyers = orders_in_sets("buyers:", {7, 8}),
      .restock =
          [](Client& client, std::int64_t voucher, std::int64_t pieces) {
            client("INCRBY", "stock:" + std::to_string(voucher), pieces);
          },
  };
}

TEST(ShopRushTest, RushLosesAndDoublesNothing) {
  for (RushOptions rush = kRush; rush.seed <= 20; ++rush.seed) {
    TestEngine engine;
    const RushReport report = run_rush(engine, shop(engine.now_ms()), rush, {.crashes = 3});
    EXPECT_TRUE(report.passed()) << report;
    EXPECT_LE(report.accepted, 110U);
  }
}
