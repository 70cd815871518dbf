// Vouchers that need a purchase token, on every backend.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/limits.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PurchaseTokenTest : public PaidSaleTest {
 protected:
  void publish_with_tokens(std::int64_t stock = 10) {
    voucher_ = paid_voucher(stock);
    voucher_.needs_token = true;
    ASSERT_TRUE(sale_->publish(voucher_).ok());
  }
  std::string issue(const UserId& user, VoucherId voucher = 1) {
    const auto tokens =
        PurchaseTokens::create(backend_.keyspace(), {.key_prefix = SaleKeys{}.purchase_tokens()});
    return tokens.value()->issue(user.text(), voucher).value();
  }
  Outcome buy_with(const UserId& user, const std::string& token, const std::string& key = "") {
    return sale_
        ->buy(
            BuyRequest{.voucher = 1, .user = user, .idempotency_key = key, .purchase_token = token})
        .outcome;
  }

  Voucher voucher_;
};
INSTANTIATE_TEST_SUITE_P(Backends, PurchaseTokenTest, each_backend(), backend_name);

TEST_P(PurchaseTokenTest, PurchaseSpendsItsUsersToken) {
  publish_with_tokens();
  voucher_.limits.per_user = 0;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  for (const UserId& user : {UserId(7), UserId("anna")}) {
    const std::string token = issue(user);
    EXPECT_EQ(buy_with(user, ""), Outcome::kTokenRefused);
    for (const std::string& wrong : {std::string("-"), std::string("x"), token + " used",
                                     token + " ", issue(UserId(8)), issue(user, 2)}) {
      EXPECT_EQ(buy_with(user, wrong), Outcome::kTokenRefused) << wrong;
    }
    EXPECT_EQ(buy_with(user, token), Outcome::kAccepted);
    EXPECT_EQ(buy_with(user, token), Outcome::kTokenRefused) << "spent";
  }
  drain();
  expect_audit_passes();
}

TEST_P(PurchaseTokenTest, RefusedPurchaseSpendsNone) {
  publish_with_tokens(1);
  const std::string token = issue(7);
  EXPECT_EQ(sale_->buy(BuyRequest{.voucher = 1, .user = 7, .quantity = 2, .purchase_token = token})
                .outcome,
            Outcome::kSoldOut);
  EXPECT_EQ(buy_with(7, token), Outcome::kAccepted);
}

TEST_P(PurchaseTokenTest, RepetitionNeedsNoSecondToken) {
  publish_with_tokens();
  EXPECT_EQ(buy_with(7, "wrong", "click"), Outcome::kTokenRefused);
  EXPECT_EQ(buy_with(7, issue(7), "click"), Outcome::kAccepted);
  for (const char* const token : {"", "wrong"}) {
    const BuyResult again = sale_->buy(
        BuyRequest{.voucher = 1, .user = 7, .idempotency_key = "click", .purchase_token = token});
    EXPECT_TRUE(again.is_repeated) << outcome_name(again.outcome);
  }
}

TEST_P(PurchaseTokenTest, EachOfSeveralHasItsOwn) {
  publish_with_tokens();
  std::vector<BuyRequest> requests(4, {.voucher = 1});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].user = static_cast<std::int64_t>(i);
    if (i % 2 == 0) requests[i].purchase_token = issue(requests[i].user);
  }
  std::vector<Outcome> outcomes;
  for (const BuyResult& result : sale_->buy_all(requests)) outcomes.push_back(result.outcome);
  EXPECT_THAT(outcomes, ElementsAre(Outcome::kAccepted, Outcome::kTokenRefused, Outcome::kAccepted,
                                    Outcome::kTokenRefused));
}

TEST_P(PurchaseTokenTest, WaitingUserIsServedWithoutToken) {
  publish_with_tokens(1);
  voucher_.waiting_max = 5;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  ASSERT_EQ(buy_with(1, issue(1)), Outcome::kAccepted);
  const WaitResult waits = sale_->wait_for(1, 2);
  ASSERT_EQ(waits.outcome, WaitOutcome::kWaiting);
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_THAT(sale_->waiting_list(1).value(), IsEmpty());
  EXPECT_TRUE(is_order_held(backend_.client(), waits.order));
  expect_audit_passes();
}

TEST_P(PurchaseTokenTest, RuleIsKeptByRebuild) {
  publish_with_tokens();
  backend_.client()("DEL", SaleKeys{}.voucher(1), SaleKeys{}.stock(1));
  EXPECT_EQ(buy_with(7, ""), Outcome::kTokenRefused);
  EXPECT_EQ(buy_with(7, issue(7)), Outcome::kAccepted);
}

TEST_P(PurchaseTokenTest, VoucherOfOlderVersionNeedsNone) {
  publish();
  backend_.client()("HDEL", SaleKeys{}.voucher(1), "token");
  EXPECT_EQ(buy_with(7, ""), Outcome::kAccepted);
  EXPECT_EQ(buy_with(8, "whatever"), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(PurchaseTokenTest, AuditFindsRuleThatIsGone) {
  publish_with_tokens();
  backend_.client()("HSET", SaleKeys{}.voucher(1), "token", 0);
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->problems.size(), 1U);
  EXPECT_THAT(report->problems[0], ::testing::HasSubstr("needs token"));
}

TEST_P(PurchaseTokenTest, LongTokenIsRefused) {
  publish_with_tokens();
  const BuyResult result = sale_->buy(
      BuyRequest{.voucher = 1,
                 .user = 7,
                 .purchase_token = std::string(BuyRequest::kPurchaseTokenBytesMax + 1, 'x')});
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_THAT(result.detail, ::testing::HasSubstr("purchase token"));
}

}  // namespace
}  // namespace rushgate
