// A sale with the user's own admission script, on every backend.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/conformance/field_scripts/field_scripts.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/random_seed.h>
#include <rushgate/test_engine.h>

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<CustomAdmission::Code> kFieldCodes = {
    {0, Outcome::kAccepted}, {1, Outcome::kSoldOut}, {2, Outcome::kLimitReached}};

CustomAdmission building_keys() {
  return {.text = std::string(testing::kAdmissionBuildingKeys),
          .arguments = {"<voucher>", "<user>", "<order>"},
          .codes = kFieldCodes};
}

CustomAdmission passing_keys() {
  return {.text = std::string(testing::kAdmissionPassingKeys),
          .keys = {"<buyers>", "<stock>"},
          .arguments = {"<user>", "<order>", "<voucher>"},
          .codes = kFieldCodes};
}

/// Returns a script that keeps any limit per user, and refuses users on a list.
CustomAdmission counting() {
  return {
      .text = R"lua(
if redis.call('SISMEMBER', KEYS[5], ARGV[1]) == 1 then return 40 end
if tonumber(redis.call('GET', KEYS[2])) <= 0 then return -1 end
local per_user = redis.call('HGET', KEYS[1], 'per_user')
local counted = redis.call('HGET', KEYS[1], 'counted') == '1'
local bought
if counted then
  bought = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or 0)
else
  bought = redis.call('SISMEMBER', KEYS[3], ARGV[1])
end
if per_user ~= '0' and bought >= tonumber(per_user) then return -2 end
redis.call('DECR', KEYS[2])
if counted then redis.call('HINCRBY', KEYS[3], ARGV[1], 1) else redis.call('SADD', KEYS[3], ARGV[1]) end
redis.call('XADD', KEYS[4], '*', 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', ARGV[2], 'limit', per_user)
redis.call('HINCRBY', KEYS[6], 'day', 1)
return 7
)lua",
      .keys = {"<terms>", "<stock>", "<buyers>", "<stream>", "blocked", "shop:{<voucher>}:sold"},
      .arguments = {"<user>", "<order>", "<voucher>"},
      .codes = {{7, Outcome::kAccepted},
                {-1, Outcome::kSoldOut},
                {-2, Outcome::kLimitReached},
                {40, Outcome::kRefused, "blocked"}},
      .counts_buyers = true};
}

class CustomAdmissionTest : public SaleTest {
 protected:
  /// Reopens the sale with this script.
  void reopen_with(CustomAdmission admission) {
    sale_.reset();
    auto sale = try_open(std::move(admission));
    ASSERT_TRUE(sale.ok()) << sale.status();
    sale_ = *std::move(sale);
  }
  absl::StatusOr<std::unique_ptr<Sale>> try_open(CustomAdmission admission) {
    return Sale::open(backend_.keyspace(), backend_.orders(), {.admission = std::move(admission)});
  }
  std::string open_error(CustomAdmission admission) {
    const auto sale = try_open(std::move(admission));
    EXPECT_TRUE(absl::IsInvalidArgument(sale.status())) << sale.status();
    return std::string(sale.status().message());
  }

  /// Buys with a faulty script. Returns the fault that is reported.
  std::string fault_of(const std::string& text, std::int64_t user = 101) {
    CustomAdmission admission = passing_keys();
    admission.text = text;
    reopen_with(admission);
    const BuyResult result = sale_->buy(1, user);
    EXPECT_EQ(result.outcome, Outcome::kOutcomeUnknown) << result.detail;
    EXPECT_GT(result.order, 0);
    return result.detail;
  }

  std::vector<Outcome> buy_together(const std::vector<BuyRequest>& requests) {
    std::vector<Outcome> outcomes;
    for (const BuyResult& result : sale_->buy_all(requests)) {
      EXPECT_THAT(result.detail, IsEmpty());
      outcomes.push_back(result.outcome);
    }
    return outcomes;
  }

  void expect_whole_sale() {
    ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
    EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
    EXPECT_EQ(buy(1, 101), Outcome::kLimitReached);
    drain();
    EXPECT_EQ(buy(1, 102), Outcome::kAccepted);
    expect_audit_passes();
    EXPECT_THAT(buy_together({{1, 102}, {1, 103}, {1, 104}, {2, 101}}),
                ElementsAre(Outcome::kLimitReached, Outcome::kAccepted, Outcome::kSoldOut,
                            Outcome::kUnknownVoucher));
    drain();
    expect_audit_passes();
    const auto orders = sale_->orders_of(103);
    ASSERT_TRUE(orders.ok());
    ASSERT_EQ(orders->size(), 1U);
    EXPECT_EQ(orders->front().location, OrderLocation::kStored);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, CustomAdmissionTest, each_backend_without_lanes(), backend_name);

// ---- Correct scripts --------------------------------------------------------------------------

TEST_P(CustomAdmissionTest, FieldScriptBuildingKeysSells) {
  reopen_with(building_keys());
  expect_whole_sale();
}

TEST_P(CustomAdmissionTest, FieldScriptPassingKeysSells) {
  reopen_with(passing_keys());
  expect_whole_sale();
}

TEST_P(CustomAdmissionTest, OwnCodesHaveTheirOutcomes) {
  reopen_with(counting());
  ASSERT_TRUE(sale_->publish(voucher(1, 4, {.per_user = 3})).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 9, {.per_user = 0})).ok());
  ASSERT_TRUE(sale_->publish(voucher(3, 9)).ok());
  backend_.client()("SADD", "blocked", 666);
  const BuyResult blocked = sale_->buy(1, 666);
  EXPECT_EQ(blocked.outcome, Outcome::kRefused);
  EXPECT_EQ(blocked.detail, "blocked");
  EXPECT_EQ(blocked.order, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 101), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 102), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 103), Outcome::kSoldOut);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(buy(2, 101), Outcome::kAccepted);
  EXPECT_EQ(buy(3, 101), Outcome::kAccepted);
  EXPECT_EQ(buy(3, 101), Outcome::kLimitReached);
  EXPECT_EQ(backend_.client()("HGET", "shop:{1}:sold", "day"), Reply::bulk("4"));
  drain();
  const auto dead = sale_->dead_letters();
  ASSERT_TRUE(dead.ok());
  EXPECT_EQ(dead->size(), 0U);
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, IdKeptByRefusingScriptStaysUnique) {
  CustomAdmission keeping = counting();
  keeping.text =
      "if redis.call('SISMEMBER', KEYS[5], ARGV[1]) == 1 then "
      "redis.call('RPUSH', KEYS[7], ARGV[2]) end\n" +
      keeping.text;
  keeping.keys.emplace_back("tries");
  reopen_with(keeping);
  ASSERT_TRUE(sale_->publish(voucher(1, 4)).ok());
  backend_.client()("SADD", "blocked", 666);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sale_->buy(1, 666).outcome, Outcome::kRefused);
  EXPECT_THAT(sale_->buy_all(std::vector<BuyRequest>(2, {.voucher = 1, .user = 666})),
              ::testing::Each(::testing::Field(&BuyResult::outcome, Outcome::kRefused)));
  const BuyResult bought = sale_->buy(1, 7);
  EXPECT_EQ(bought.outcome, Outcome::kAccepted);
  const Reply tries = backend_.client()("LRANGE", "tries", 0, -1);
  std::set<std::string> ids = {std::to_string(bought.order)};
  for (const Reply& id : tries.elements()) ids.insert(id.text());
  EXPECT_EQ(tries.elements().size(), 4U);
  EXPECT_EQ(ids.size(), 5U);
}

// ---- Rules that the sale adds -----------------------------------------------------------------

TEST_P(CustomAdmissionTest, SaleChecksWindow) {
  reopen_with(building_keys());
  Voucher early = voucher(1, 10);
  early.begin_ms = backend_.clock().now_ms() + 1'000;
  ASSERT_TRUE(sale_->publish(early).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kNotStarted);
  backend_.advance_ms(1'000);
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  ASSERT_TRUE(sale_->close(1).ok());
  EXPECT_EQ(buy(1, 102), Outcome::kEnded);
}

TEST_P(CustomAdmissionTest, RepeatedRequestGetsItsOrder) {
  reopen_with(building_keys());
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const BuyResult first = sale_->buy(1, 101, "click");
  const BuyResult again = sale_->buy(1, 101, "click");
  EXPECT_EQ(first.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.order, first.order);
  EXPECT_EQ(buy(1, 102, "click"), Outcome::kKeyReused);
  EXPECT_EQ(buy(1, 101, "another click"), Outcome::kLimitReached);
  drain();
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, LostVoucherIsRebuilt) {
  reopen_with(passing_keys());
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(1, 102), Outcome::kAccepted);  // queued
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 101), Outcome::kLimitReached);
  backend_.client()("DEL", "seckill:voucher:1", "seckill:order:1");
  EXPECT_EQ(buy(1, 102), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 103), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 104), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, ClosedVoucherIsNotSold) {
  reopen_with(building_keys());
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  close_as_somebody(0);
  EXPECT_EQ(sale_->buy(1, 101).outcome, Outcome::kOverloaded);
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("3"));
}

TEST_P(CustomAdmissionTest, ScriptsOfTwoProcessesShareStock) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  reopen_with(building_keys());
  EXPECT_EQ(buy(1, 101), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 102), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, LimitsUnsupportedByScriptAreRefused) {
  reopen_with(building_keys());
  for (const auto& [limits, name] : {std::pair(Limits{.total = 5}, "limits.total"),
                                     {Limits{.per_user = 2}, "limits.per_user"},
                                     {Limits{.per_user_day = 1}, "limits.per_user_day"}}) {
    const absl::Status refused = sale_->publish(voucher(1, 10, limits));
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(name));
  }
}

TEST_P(CustomAdmissionTest, VoucherWithUnsupportedLimitIsNotSold) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user_day = 1})).ok());
  reopen_with(building_keys());
  const BuyResult refused = sale_->buy(1, 101);
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_THAT(refused.detail, HasSubstr("that the admission script does not keep"));
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, WaitingListIsRefused) {
  Voucher with_list = voucher(1, 1);
  with_list.waiting_max = 5;
  ASSERT_TRUE(sale_->publish(with_list).ok());
  ASSERT_EQ(sale_->buy(1, 101).outcome, Outcome::kAccepted);
  reopen_with(counting());

  EXPECT_EQ(sale_->wait_for(1, 102).outcome, WaitOutcome::kNoWaitingList)
      << "the script may refuse the user";
  EXPECT_EQ(sale_->buy(1, 102).outcome, Outcome::kFailed);
  const absl::Status refused = sale_->publish(with_list);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("waiting_max"));
  with_list.waiting_max = 0;
  EXPECT_TRUE(sale_->publish(with_list).ok());
}

TEST_P(CustomAdmissionTest, PurchaseTokenIsRefused) {
  Voucher with_tokens = voucher(1, 1);
  with_tokens.needs_token = true;
  ASSERT_TRUE(sale_->publish(with_tokens).ok());
  reopen_with(counting());
  EXPECT_EQ(sale_->buy(1, 102).outcome, Outcome::kFailed);
  const absl::Status refused = sale_->publish(with_tokens);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("needs_token"));
}

TEST_P(CustomAdmissionTest, WrongTypesAreRefusedBeforeWrite) {
  reopen_with(building_keys());
  Client& client = backend_.client();
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  client("SET", "seckill:order:1", "x");
  EXPECT_THAT(sale_->buy(1, 101).detail, HasSubstr("WRONGTYPE"));
  client("DEL", "seckill:order:1");
  client("SET", "seckill:stock:1", "1.5");
  EXPECT_EQ(sale_->buy(1, 101).outcome, Outcome::kFailed);
  client("SET", "seckill:stock:1", "3");
  client("RENAME", "stream.orders", "elsewhere");
  client("SET", "stream.orders", "x");
  EXPECT_THAT(sale_->buy(1, 101).detail, HasSubstr("WRONGTYPE"));
  EXPECT_EQ(client("GET", "seckill:stock:1"), Reply::bulk("3"));
  EXPECT_EQ(client("EXISTS", "seckill:order:1"), Reply::integer(0));
}

// ---- Faulty scripts ---------------------------------------------------------------------------

TEST_P(CustomAdmissionTest, DeclarationWithFaultIsRefused) {
  CustomAdmission admission = passing_keys();
  admission.text = "";
  EXPECT_EQ(open_error(admission), "admission.text: is empty");
  admission.text = "#!lua\nreturn 0";
  EXPECT_EQ(open_error(admission), "admission.text: begins with #!");
  admission.text = "if x then return 0";
  EXPECT_THAT(open_error(admission),
              AllOf(HasSubstr("admission.text"), HasSubstr("'end' expected")));
  admission.text = "return 0 end)() (function()";
  EXPECT_THAT(open_error(admission), HasSubstr("admission.text"));

  admission = passing_keys();
  admission.keys[1] = "stock:<shop>:<voucher>";
  EXPECT_EQ(open_error(admission),
            "admission.keys[1]: \"stock:<shop>:<voucher>\": <shop> is no placeholder");
  admission = passing_keys();
  admission.arguments[0] = "a < b";
  EXPECT_THAT(open_error(admission), HasSubstr("admission.arguments[0]"));
  admission.arguments = {"<user>"};
  EXPECT_EQ(open_error(admission), "admission.arguments: none of them has <order>");
  admission = passing_keys();
  admission.arguments.resize(65, "x");
  EXPECT_EQ(open_error(admission), "admission.arguments: more than 64");

  admission = passing_keys();
  admission.codes[2].code = 1;
  EXPECT_EQ(open_error(admission), "admission.codes: 1 stands there twice");
  admission.codes = {{1, Outcome::kSoldOut}};
  EXPECT_EQ(open_error(admission), "admission.codes: none of them means \"accepted\"");
  admission.codes = {{0, Outcome::kAccepted}, {1, Outcome::kOutcomeUnknown}};
  EXPECT_EQ(open_error(admission), "admission.codes: 1 cannot mean \"outcome unknown\"");
}

TEST_P(CustomAdmissionTest, UndeclaredReplyIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_THAT(fault_of("return 9"), HasSubstr("returned 9, which is none of its codes"));
  EXPECT_THAT(fault_of("return 'yes'"), HasSubstr("returned no integer"));
  EXPECT_THAT(fault_of("return 0.5"), HasSubstr("returned no integer"));
  EXPECT_THAT(fault_of("local done = true"), HasSubstr("returned no integer"));
  EXPECT_THAT(fault_of("return redis.error_reply('SHOP closed')"), HasSubstr("SHOP closed"));
  EXPECT_THAT(fault_of("\n\nreturn 1 + nil"), HasSubstr("user_script:3:"));
  expect_audit_passes();
}

TEST_P(CustomAdmissionTest, EffectsContradictingReplyAreNamed) {
  const std::string take = "redis.call('DECR', KEYS[2]) ";
  const std::string note = "redis.call('SADD', KEYS[1], ARGV[1]) ";
  const auto append = [](const std::string& fields) {
    return "redis.call('XADD', 'stream.orders', " + fields + ") ";
  };
  const std::string entry = append("'*', 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', ARGV[2]");
  const std::pair<std::string, std::string> faults[] = {
      {note + entry + "return 0", "accepted user 101 and made the stock 5 from 5"},
      {take + take + note + entry + "return 0", "accepted user 101 and made the stock 3 from 5"},
      {"redis.call('DEL', KEYS[2]) " + note + entry + "return 0", "the stock nothing from 5"},
      {take + entry + "return 0", "whose orders among the buyers are 0 instead of 1"},
      {take + note + "return 0", "left 0 entries in the order stream instead of 1"},
      {take + note + entry + entry + "return 0", "left 2 entries in the order stream"},
      {take + note + append("'MAXLEN', 0, '*', 'userId', ARGV[1]") + "return 0", "left 0 entries"},
      {take + note + append("'*', 'userId', ARGV[1], 'id', ARGV[2]") + "return 0",
       "appended an entry without the field voucherId"},
      {take + note + append("'*', 'userId', ARGV[2], 'voucherId', ARGV[3], 'id', ARGV[1]") +
           "return 0",
       "appended an entry with userId "},
      {take + note +
           append("'*', 'userId', 1, 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', "
                  "ARGV[2]") +
           "return 0",
       "appended an entry with userId 1 instead of 101"},
      {take + note +
           append("'*', 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', ARGV[2], "
                  "'limit', 9") +
           "return 0",
       "appended an entry with limit 9 instead of 1"},
      {take + note +
           append("'*', 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', ARGV[2], "
                  "'admitted', '1-1'") +
           "return 0",
       "appended an entry with the field admitted"},
      {take + "return 1", "refused user 101 with 1 and changed the stock"},
      {note + "return 2", "refused user 101 with 2 and changed the buyers"},
      {entry + "return 2", "refused user 101 with 2 and changed the order stream"},
  };
  Client& client = backend_.client();
  for (const auto& [text, fault] : faults) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
    client("SET", "seckill:stock:1", 5);
    client("DEL", "seckill:order:1");
    client("XTRIM", "stream.orders", "MAXLEN", 0);
    EXPECT_THAT(fault_of(text), HasSubstr(fault));
  }
}

TEST_P(CustomAdmissionTest, OversellingAndDoublingAreNamed) {
  const std::string text = R"lua(
redis.call('DECR', KEYS[2])
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('XADD', 'stream.orders', '*', 'userId', ARGV[1], 'voucherId', ARGV[3], 'id', ARGV[2])
return 0
)lua";
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  EXPECT_THAT(fault_of(text, 102), HasSubstr("accepted user 102 at a stock of 0"));
  backend_.client()("SET", "seckill:stock:1", 5);
  EXPECT_THAT(fault_of(text, 101), HasSubstr("accepted user 101, with as many orders"));
}

TEST_P(CustomAdmissionTest, FaultyScriptFailsAudit) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_THAT(fault_of("redis.call('DECR', KEYS[2]) return 0"), HasSubstr("buyers"));
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->problems, ElementsAre(HasSubstr("published 3 is not free 2")));
}

TEST(CustomAdmissionRollbackTest, EngineRollsBackFaultyRun) {
  testing::TestEngine engine({.engine = {.roll_back_failed_scripts = true}});
  MemoryOrderStore orders;
  CustomAdmission admission = passing_keys();
  admission.text = "redis.call('DECR', KEYS[2]) return 0";
  const auto sale = *Sale::open(engine.engine(), orders, {.admission = admission});
  ASSERT_TRUE(sale->publish({.id = 1, .title = "x", .stock = 3, .end_ms = kNeverEndsMs}).ok());
  const BuyResult result = sale->buy(1, 101);
  EXPECT_EQ(result.outcome, Outcome::kOutcomeUnknown);
  EXPECT_EQ(engine.call("GET", "seckill:stock:1"), Reply::bulk("3"));
  const auto report = sale->audit();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->problems, IsEmpty());
}

// ---- The same decisions --------------------------------------------------------------------------

/// A sale on its own engine.
struct OwnSale {
  explicit OwnSale(std::optional<CustomAdmission> admission)
      : sale(*Sale::open(engine.engine(), orders, {.admission = std::move(admission)})) {}

  testing::TestEngine engine;
  MemoryOrderStore orders{"the same"};
  const std::unique_ptr<Sale> sale;
};

TEST(CustomAdmissionRandomTest, ScriptDecidesLikeOwnScript) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  OwnSale own({});
  OwnSale custom(counting());
  const auto both = [&](auto step) {
    step(own);
    step(custom);
  };
  for (int i = 0; i < 2'000; ++i) {
    const VoucherId voucher = 1 + below(3);
    const std::int64_t user = 1 + below(12);
    const std::string key = below(4) == 0 ? "key " + std::to_string(below(20)) : "";
    switch (below(12)) {
      case 0: {
        const std::int64_t now_ms = own.engine.now_ms();
        const Voucher published = {.id = voucher,
                                   .title = "x",
                                   .stock = 5 + below(30),
                                   .begin_ms = now_ms - 500 + below(1'000),
                                   .end_ms = now_ms + 1'000 + below(5'000),
                                   .limits = {.per_user = below(4)}};
        both([&](OwnSale& one) { static_cast<void>(one.sale->publish(published)); });
        break;
      }
      case 1:
        both([&](OwnSale& one) { one.engine.call("DEL", "seckill:stock:1"); });
        break;
      case 2: {
        const std::int64_t passes_ms = below(1'000);
        both([&](OwnSale& one) { one.engine.advance_ms(passes_ms); });
        break;
      }
      default: {
        const BuyResult expected = own.sale->buy(voucher, user, key);
        const BuyResult result = custom.sale->buy(voucher, user, key);
        ASSERT_EQ(result.outcome, expected.outcome) << i << ' ' << result.detail;
        ASSERT_EQ(result.detail, expected.detail);
      }
    }
    const std::string stock = "seckill:stock:" + std::to_string(voucher);
    ASSERT_EQ(custom.engine.call("GET", stock), own.engine.call("GET", stock)) << i;
  }
  for (OwnSale* one : {&own, &custom}) {
    static_cast<void>(one->sale->add_stock(1, 1));  // rebuilds the stock that was lost last
    const auto report = one->sale->audit();
    ASSERT_TRUE(report.ok());
    EXPECT_THAT(report->problems, IsEmpty());
  }
}

// ---- In the machine's time ----

using TimedCustomAdmissionTest = ThreadedSaleTest;
INSTANTIATE_TEST_SUITE_P(Backends, TimedCustomAdmissionTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

TEST_P(TimedCustomAdmissionTest, DecisionBeforeEndKeepsItsTime) {
  CustomAdmission slow = passing_keys();
  slow.keys.emplace_back("<terms>");
  // Since Redis 7.2 the time stands still in a script.
  slow.text = R"lua(
local ends, began, calls = tonumber(redis.call('HGET', KEYS[3], 'end')), redis.call('TIME')[2], 0
repeat
  local time = redis.call('TIME')
  calls = calls + 1
  local stands_still = calls == 10000 and time[2] == began
until stands_still or time[1] * 1000 + math.floor(time[2] / 1000) > ends
)lua" + slow.text;
  sale_.reset();
  sale_ = *Sale::open(backend_.keyspace(), backend_.orders(), {.admission = slow});
  Voucher ending = voucher(1, 5);
  ending.end_ms = backend_.clock().now_ms() + 300;
  ASSERT_TRUE(sale_->publish(ending).ok());

  ASSERT_EQ(sale_->buy(1, 7).outcome, Outcome::kAccepted);

  expect_audit_passes();
  worker_->step();
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
