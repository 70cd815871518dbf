// A correct script passes the check, and each mistake is named.
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_replace.h"
#include "tests/conformance/field_scripts/field_scripts.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CustomAdmission passing_keys(std::string text = std::string(kAdmissionPassingKeys)) {
  return {.text = std::move(text),
          .keys = {"<buyers>", "<stock>"},
          .arguments = {"<user>", "<order>", "<voucher>"},
          .codes = {{0, Outcome::kAccepted}, {1, Outcome::kSoldOut}, {2, Outcome::kLimitReached}}};
}

/// Returns the correct script with `from` replaced by `to`.
CustomAdmission with(const std::string& from, const std::string& to) {
  const std::string text(kAdmissionPassingKeys);
  std::string changed = absl::StrReplaceAll(text, {{from, to}});
  EXPECT_NE(changed, text) << from;
  return passing_keys(std::move(changed));
}

std::vector<std::string> faults_of(const CustomAdmission& admission,
                                   const AdmissionCheckOptions& options = {}) {
  return check_admission(admission, options).faults;
}

// ---- Correct scripts -----------

TEST(CheckAdmissionTest, FieldScriptPassingKeysPasses) {
  const AdmissionReport report = check_admission(passing_keys());
  EXPECT_TRUE(report.passed()) << report;
}

TEST(CheckAdmissionTest, FieldScriptBuildingKeysPasses) {
  const AdmissionReport report = check_admission({.text = std::string(kAdmissionBuildingKeys),
                                                  .arguments = {"<voucher>", "<user>", "<order>"},
                                                  .codes = passing_keys().codes});
  EXPECT_TRUE(report.passed()) << report;
}

TEST(CheckAdmissionTest, OwnKeysAndRulesPass) {
  CustomAdmission admission = with("local user = ARGV[1]", R"lua(
local user = ARGV[1]
if redis.call('SISMEMBER', KEYS[3], user) == 1 then return 3 end
redis.call('HINCRBY', KEYS[4], 'asked', 1)
)lua");
  admission.keys.insert(admission.keys.end(), {"blocked", "shop:{<user>}"});
  admission.codes.push_back({3, Outcome::kRefused, "blocked"});
  AdmissionCheckOptions options;
  options.prepare = [](Client& client) { client("SADD", "blocked", 1, 2, 3); };
  options.stock = 100;
  EXPECT_THAT(faults_of(admission, options), Contains(HasSubstr("sold 99 of 100 to more users")));
  options.find_withheld = false;
  const AdmissionReport report = check_admission(admission, options);
  EXPECT_TRUE(report.passed()) << report;
}

TEST(CheckAdmissionTest, ScriptThatCountsBuyersPasses) {
  CustomAdmission admission = {.text = R"lua(
local terms = redis.call('HMGET', KEYS[1], 'per_user', 'counted')
local per_user, counted = tonumber(terms[1]), terms[2] == '1'
if tonumber(redis.call('GET', KEYS[2])) <= 0 then return 1 end
local bought
if counted then
  bought = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or 0)
else
  bought = redis.call('SISMEMBER', KEYS[3], ARGV[1])
end
if per_user > 0 and bought >= per_user then return 2 end
redis.call('DECR', KEYS[2])
if counted then redis.call('HINCRBY', KEYS[3], ARGV[1], 1) else redis.call('SADD', KEYS[3], ARGV[1]) end
redis.call('XADD', KEYS[4], '*', 'userId', ARGV[1], 'voucherId', ARGV[2], 'id', ARGV[3], 'limit', terms[1])
return 0
)lua",
                               .keys = {"<terms>", "<stock>", "<buyers>", "<stream>"},
                               .arguments = {"<user>", "<voucher>", "<order>"},
                               .codes = passing_keys().codes,
                               .counts_buyers = true};
  const AdmissionReport report = check_admission(admission);
  EXPECT_TRUE(report.passed()) << report;

  admission.text = absl::StrReplaceAll(admission.text, {{", 'limit', terms[1])", ")"}});
  EXPECT_THAT(faults_of(admission), Contains("with a limit of 2 per user: in a sale: appended an "
                                             "entry without the field limit"));
}

// ---- Mistakes ----

TEST(CheckAdmissionTest, FaultOfDeclarationIsNamed) {
  CustomAdmission admission = passing_keys();
  admission.keys[0] = "<buyer>";
  EXPECT_THAT(faults_of(admission),
              ElementsAre("admission.keys[0]: \"<buyer>\": <buyer> is no placeholder"));
  EXPECT_THAT(faults_of(passing_keys("return 0 or")), ElementsAre(HasSubstr("admission.text")));
}

TEST(CheckAdmissionTest, UndeclaredCodeIsNamed) {
  EXPECT_THAT(faults_of(with("return 2", "return 5")),
              Contains("returned 5, which is none of its codes"));
  EXPECT_THAT(faults_of(with("return 2", "return 'bought'")),
              Contains("returned \"bought\", which is none of its codes"));
}

TEST(CheckAdmissionTest, OversellingIsNamed) {
  const auto faults = faults_of(with("<= 0", "< 0"));
  EXPECT_THAT(faults, Contains("accepts at a stock of 0"));
  EXPECT_THAT(faults, Contains(HasSubstr("oversold: voucher 7 by 1 (stock 10")));
  EXPECT_THAT(faults, Contains("in a sale: accepted user 10 at a stock of 0"));
}

TEST(CheckAdmissionTest, UnchangedStockIsNamed) {
  const auto faults = faults_of(with("redis.call('incrby', KEYS[2], -1)", ""));
  EXPECT_THAT(faults, Contains(HasSubstr("oversold")));
  EXPECT_THAT(faults, Contains("in a sale: accepted user 1 and made the stock 10 from 10"));
}

TEST(CheckAdmissionTest, DoubledOrderIsNamed) {
  const auto faults = faults_of(with("redis.call('sadd', KEYS[1], user)", ""));
  EXPECT_THAT(faults, Contains(HasSubstr("doubled: user ")));
  EXPECT_THAT(faults, Contains(HasSubstr("whose orders among the buyers are 0 instead of 1")));
}

TEST(CheckAdmissionTest, LostOrderIsNamed) {
  const auto faults = faults_of(with("redis.call('xadd', 'stream.orders'", "tostring('stream'"));
  EXPECT_THAT(faults, Contains(HasSubstr("lost: user")));
  EXPECT_THAT(faults, Contains(HasSubstr("left 0 entries in the order stream instead of 1")));
}

TEST(CheckAdmissionTest, BuyerRecordedBeforeStockIsNamed) {
  const auto faults = faults_of(with("local user = ARGV[1]", R"lua(
local user = ARGV[1]
if redis.call('sadd', KEYS[1], user) == 0 then return 2 end
if tonumber(redis.call('get', KEYS[2])) > 0 then
  redis.call('decr', KEYS[2])
  redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', ARGV[3], 'id', ARGV[2])
  return 0
end
)lua"));
  EXPECT_THAT(faults, Contains(HasSubstr("refused user 10 with 1 and changed the buyers")));
}

TEST(CheckAdmissionTest, UserAsNumberIsNamed) {
  EXPECT_THAT(faults_of(with("local user = ARGV[1]", "local user = tonumber(ARGV[1])")),
              Contains(HasSubstr("in a sale: accepted user 9007199254740993, whose orders among")));
}

TEST(CheckAdmissionTest, UndeclaredKeyIsNamed) {
  EXPECT_THAT(faults_of(with("return 0", "redis.call('incr', 'sold:' .. ARGV[3]) return 0")),
              ElementsAre("writes sold:7, which is not among its keys"));
  EXPECT_THAT(
      faults_of(with("return 0", "redis.call('hset', 'seckill:voucher:7', 'seen', 1) return 0")),
      Contains("writes the terms of the voucher, seckill:voucher:7"));
}

TEST(CheckAdmissionTest, FailureAfterWriteIsNamed) {
  EXPECT_THAT(faults_of(with("redis.call('xadd'", "redis.call('incr', KEYS[1]) redis.call('xadd'")),
              Contains(HasSubstr("fails after it has written seckill:order:7: WRONGTYPE")));
}

TEST(CheckAdmissionTest, RandomOutcomeIsNamed) {
  EXPECT_THAT(faults_of(with("local user = ARGV[1]",
                             "local user = ARGV[1] if math.random() < 0.5 then return 1 end")),
              Contains(HasSubstr("is not deterministic: returned ")));
  EXPECT_THAT(faults_of(with("'id', ARGV[2]", "'lot', math.random(1000), 'id', ARGV[2]")),
              ElementsAre("is not deterministic: the same requests make different values of "
                          "stream.orders"));
}

TEST(CheckAdmissionTest, WithheldStockIsNamed) {
  const auto faults = faults_of(with("<= 0", "<= 3"));
  EXPECT_THAT(faults, Contains(HasSubstr("withheld: voucher 7 by 3")));
  EXPECT_THAT(faults, Contains("sold 7 of 10 to more users than that"));
}

TEST(CheckAdmissionTest, LastingSoldOutMarkIsNamed) {
  CustomAdmission admission = with("return 0", R"lua(
if tonumber(redis.call('get', KEYS[2])) == 0 then redis.call('set', KEYS[3], 'sold out') end
return 0)lua");
  admission.text = "if redis.call('exists', KEYS[3]) == 1 then return 1 end" + admission.text;
  admission.keys.emplace_back("shop:soldout:<voucher>");
  EXPECT_THAT(faults_of(admission), Contains(HasSubstr("withheld: voucher 7 by ")));
}

TEST(CheckAdmissionTest, StockOutOfRangeThrows) {
  EXPECT_THROW(faults_of(passing_keys(), {.stock = 0}), std::invalid_argument);
  EXPECT_THROW(faults_of(passing_keys(), {.stock = 1'001}), std::invalid_argument);
  EXPECT_THAT(faults_of(passing_keys(), {.stock = 1}), ElementsAre());
}

TEST(CheckAdmissionTest, ReportListsFaults) {
  std::ostringstream text;
  text << AdmissionReport{.faults = {"one", "two"}} << AdmissionReport{};
  EXPECT_EQ(text.str(), "the admission script failed\n  one\n  two\nthe admission script passed\n");
}

}  // namespace
}  // namespace rushgate::testing
