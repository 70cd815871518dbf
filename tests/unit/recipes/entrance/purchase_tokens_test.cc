// Tokens that admit a user to a sale after an earlier check.
#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/limits.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

using Redeemed = PurchaseTokens::Redeemed;

constexpr std::int64_t kUser = 5;
constexpr std::int64_t kItem = 7;

class PurchaseTokensTest : public RecipeTest {
 protected:
  std::unique_ptr<PurchaseTokens> tokens_ = *PurchaseTokens::create(*backend_, {.ttl_ms = 1'000});
};

INSTANTIATE_TEST_SUITE_P(Backends, PurchaseTokensTest, all_recipe_kinds(), recipe_name);

TEST_P(PurchaseTokensTest, TokenIsRedeemedOnce) {
  const std::string token = *tokens_->issue(kUser, kItem);
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kNow);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kBefore);
}

TEST_P(PurchaseTokensTest, TokenIsBoundToUserAndItem) {
  const std::string token = *tokens_->issue(kUser, kItem);
  EXPECT_EQ(*tokens_->redeem(kUser + 1, kItem, token), Redeemed::kInvalid);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem + 1, token), Redeemed::kInvalid);
  for (const std::string& wrong : {std::string(), token + " used", token + "0", token.substr(1)}) {
    EXPECT_EQ(*tokens_->redeem(kUser, kItem, wrong), Redeemed::kInvalid) << wrong;
  }
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kNow);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token + " used"), Redeemed::kInvalid);
}

TEST_P(PurchaseTokensTest, TokenExpires) {
  const std::string token = *tokens_->issue(kUser, kItem);
  advance_ms(1'001);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kInvalid);
  EXPECT_EQ((*client_)("EXISTS", "purchase-token:7:5"), Reply::integer(0));
}

TEST_P(PurchaseTokensTest, RedeemedTokenExpiresOnSchedule) {
  const std::string token = *tokens_->issue(kUser, kItem);
  advance_ms(900);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kNow);
  advance_ms(101);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kInvalid);
}

TEST_P(PurchaseTokensTest, SecondTokenGivesNoSecondPurchase) {
  const std::string token = *tokens_->issue(kUser, kItem);
  EXPECT_EQ(*tokens_->issue(kUser, kItem), token);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kNow);
  EXPECT_EQ(*tokens_->issue(kUser, kItem), token);
  EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), Redeemed::kBefore);
}

TEST_P(PurchaseTokensTest, TokensOfTwoUsersDiffer) {
  EXPECT_NE(*tokens_->issue(kUser, kItem), *tokens_->issue(kUser + 1, kItem));
}

TEST_P(PurchaseTokensTest, SameTokenBuysSameOrder) {
  MemoryOrderStore orders;
  const auto sale = *Sale::open(*backend_, orders);
  const std::int64_t now_ms = backend_->clock().now_ms();
  const Voucher voucher = {.id = kItem,
                           .title = "voucher",
                           .stock = 10,
                           .begin_ms = now_ms - 1'000,
                           .end_ms = now_ms + 86'400'000,
                           .limits = {.per_user = 10}};
  if (GetParam() == RecipeKind::kRedis) set_now_ms(now_ms);
  ASSERT_TRUE(sale->publish(voucher).ok());
  const std::string token = *tokens_->issue(kUser, kItem);
  OrderId first = 0;
  for (const Redeemed expected : {Redeemed::kNow, Redeemed::kBefore}) {
    EXPECT_EQ(*tokens_->redeem(kUser, kItem, token), expected);
    const BuyResult bought = sale->buy(kItem, kUser, token);
    EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    if (expected == Redeemed::kNow) first = bought.order;
    EXPECT_EQ(bought.order, first);
  }
}

TEST(PurchaseTokensOptionsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  EXPECT_THAT(std::string(PurchaseTokens::create(*backend, {.ttl_ms = 0}).status().message()),
              ::testing::HasSubstr("ttl_ms is 0"));
}

}  // namespace
}  // namespace rushgate
