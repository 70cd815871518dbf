// Users with names instead of numbers.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/user_id.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UserIdTest, CanonicalDecimalIsNumber) {
  EXPECT_EQ(UserId("42"), UserId(42));
  EXPECT_EQ(UserId("-7"), UserId(-7));
  EXPECT_TRUE(UserId("9223372036854775807").is_number());
  for (const std::string name : {"042", "+42", "4 2", "", "-0", "9223372036854775808", "4e2"}) {
    EXPECT_FALSE(UserId(name).is_number()) << name;
    EXPECT_EQ(UserId(name).text(), name);
  }
  EXPECT_EQ(UserId().text(), "0");
}

TEST(UserIdTest, NamesFollowNumbersInOrder) {
  EXPECT_LT(UserId(5), UserId(6));
  EXPECT_LT(UserId(6), UserId("a"));
  EXPECT_LT(UserId("a"), UserId("b"));
  EXPECT_NE(UserId(), UserId("a"));
  UserId copy("anna");
  const UserId other = copy;
  copy = 5;
  EXPECT_EQ(other.name(), "anna");
  EXPECT_EQ(copy, UserId(5));
}

TEST(UserIdTest, FaultsOfNamesAreDescribed) {
  EXPECT_THAT(UserId(5).find_fault(), IsEmpty());
  EXPECT_THAT(UserId("j\xc3\xbcrgen@example.org").find_fault(), IsEmpty());
  EXPECT_THAT(UserId(std::string(64, 'x')).find_fault(), IsEmpty());
  EXPECT_THAT(UserId(std::string(65, 'x')).find_fault(), HasSubstr("1 to 64 bytes, not 65"));
  EXPECT_THAT(UserId("").find_fault(), HasSubstr("1 to 64 bytes, not 0"));
  EXPECT_THAT(UserId("j\xfcrgen").find_fault(), HasSubstr("UTF-8"));
  for (const std::string name : {"two words", "line\n", "tab\t", "\x7f"}) {
    EXPECT_THAT(UserId(name).find_fault(), HasSubstr("no spaces")) << name;
  }
}

class UserNamesTest : public PaidSaleTest {
 protected:
  Outcome outcome(const std::string& user, VoucherId voucher = 1) {
    return sale_->buy(voucher, UserId(user)).outcome;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, UserNamesTest, each_backend(), backend_name);

TEST_P(UserNamesTest, NameBuysOnceAndOrderHasIt) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const BuyResult bought = sale_->buy(1, UserId("anna"));
  ASSERT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
  EXPECT_EQ(outcome("anna"), Outcome::kLimitReached);
  EXPECT_EQ(outcome("042"), Outcome::kAccepted);
  EXPECT_EQ(outcome("42"), Outcome::kAccepted);
  EXPECT_EQ(sale_->buy(1, 42).outcome, Outcome::kLimitReached);
  expect_audit_passes();

  drain();

  EXPECT_EQ(stored(bought.order).user, UserId("anna"));
  const auto orders = sale_->orders_of(UserId("042"));
  ASSERT_TRUE(orders.ok()) << orders.status();
  ASSERT_EQ(orders->size(), 1U);
  EXPECT_EQ(orders->front().order->user, UserId("042"));
  const auto naming =
      *Sale::open(backend_.keyspace(), backend_.orders(), {.names_order_at_limit = true});
  for (const char* const place : {"the database", "the memory of the process"}) {
    EXPECT_EQ(naming->buy(1, UserId("anna")).order, bought.order) << place;
  }
  expect_audit_passes();
}

TEST_P(UserNamesTest, OneCallMayMixNamesAndNumbers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const std::vector<BuyRequest> requests = {
      {.voucher = 1, .user = UserId("a")}, {.voucher = 1, .user = 5},
      {.voucher = 1, .user = UserId("a")}, {.voucher = 1, .user = UserId("two words")},
      {.voucher = 1, .user = UserId("b")}, {.voucher = 1, .user = UserId("c")}};
  std::vector<Outcome> outcomes;
  for (const BuyResult& result : sale_->buy_all(requests)) outcomes.push_back(result.outcome);
  EXPECT_THAT(outcomes, ElementsAre(Outcome::kAccepted, Outcome::kAccepted, Outcome::kLimitReached,
                                    Outcome::kFailed, Outcome::kAccepted, Outcome::kSoldOut));
  drain();
  expect_audit_passes();
}

TEST_P(UserNamesTest, LimitsCountNames) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 3, .per_user_day = 2})).ok());
  EXPECT_EQ(outcome("anna"), Outcome::kAccepted);
  EXPECT_EQ(outcome("anna"), Outcome::kAccepted);
  EXPECT_EQ(outcome("anna"), Outcome::kDayLimitReached);
  EXPECT_EQ(outcome("bert"), Outcome::kAccepted);
  drain();
  backend_.client()("DEL", "seckill:stock:1", "seckill:voucher:1", "seckill:order:1",
                    "seckill:day:1");
  EXPECT_EQ(outcome("anna"), Outcome::kDayLimitReached) << "rebuilt";
  EXPECT_EQ(outcome("bert"), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(UserNamesTest, FaultyNameBuysAndWaitsForNothing) {
  publish();
  const BuyResult refused = sale_->buy(1, UserId("two words"));
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_THAT(refused.detail, HasSubstr("spaces"));
  const WaitResult waits = sale_->wait_for(1, UserId(std::string(65, 'x')));
  EXPECT_THAT(waits.detail, HasSubstr("64 bytes"));
  EXPECT_EQ(free_stock(), 10);
}

/// An order store whose database has a column of numbers for the users.
class NumbersStore final : public OrderStore {
 public:
  explicit NumbersStore(OrderStore& orders) : orders_(orders) {}

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override {
    return orders_.write(orders, fence);
  }
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override {
    return orders_.list(filter);
  }
  absl::StatusOr<DatabaseState> state() override { return orders_.state(); }
  absl::StatusOr<DatabaseState> fence() override { return orders_.fence(); }
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override {
    return orders_.reserve_ids(day, above, count);
  }
  VoucherStore* vouchers() override { return orders_.vouchers(); }
  [[nodiscard]] bool takes_user_names() const override { return false; }

 private:
  OrderStore& orders_;
};

TEST_P(UserNamesTest, StoreWithoutNamesGetsNone) {
  NumbersStore numbers(backend_.orders());
  const auto sale = *Sale::open(backend_.keyspace(), numbers);
  ASSERT_TRUE(sale->publish(voucher(1, 10)).ok());
  const BuyResult refused = sale->buy(1, UserId("anna"));
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_THAT(refused.detail, HasSubstr("numbers as user ids"));
  EXPECT_EQ(sale->buy(1, UserId("42")).outcome, Outcome::kAccepted);

  // Another producer knows nothing of the order store.
  backend_.client()("XADD", "stream.orders", "*", "userId", "bert", "voucherId", 1, "id", 77);
  OrderWorker worker(backend_.keyspace(), numbers, SaleKeys{}, {});
  drain(worker);
  const auto letters = *sale->dead_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_THAT(letters[0].reason, HasSubstr("no names: \"bert\""));
}

TEST_P(UserNamesTest, RepeatedRequestOfNameIsRecognised) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const BuyResult first = sale_->buy(1, UserId("anna"), "click-1");
  const BuyResult again = sale_->buy(1, UserId("anna"), "click-1");
  EXPECT_EQ(again.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.order, first.order);
  EXPECT_EQ(sale_->buy(1, UserId("bert"), "click-1").outcome, Outcome::kKeyReused);
}

TEST_P(UserNamesTest, NamedOrderIsPaidCancelledAndRefunded) {
  publish();
  const OrderId paid = sale_->buy(1, UserId("anna")).order;
  const OrderId cancelled = sale_->buy(1, UserId("bert")).order;
  const OrderId expiring = sale_->buy(1, UserId("carl")).order;
  ASSERT_EQ(pay(paid, "p1").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->cancel(cancelled, "no").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(outcome("bert"), Outcome::kAccepted) << "the allowance is back";
  drain();
  backend_.client()("DEL", SaleKeys{}.held(), SaleKeys{}.deadlines());
  EXPECT_EQ(pay(expiring, "late", kPrice + 1).outcome, ChangeOutcome::kRefused) << "held again";
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(expiring).status, OrderStatus::kCancelled);
  ASSERT_EQ(sale_->refund(paid, "broken").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(outcome("anna"), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(UserNamesTest, NamesWaitForReturnedPieces) {
  Voucher listed = paid_voucher(1);
  listed.waiting_max = 5;
  ASSERT_TRUE(sale_->publish(listed).ok());
  const OrderId first = sale_->buy(1, UserId("anna")).order;
  const WaitResult waits = sale_->wait_for(1, UserId("bert"));
  ASSERT_EQ(waits.outcome, WaitOutcome::kWaiting) << waits.detail;
  EXPECT_EQ(sale_->waiting_list(1).value(), std::vector{UserId("bert")});
  EXPECT_EQ(sale_->wait_for(1, UserId("carl")).outcome, WaitOutcome::kWaiting);
  EXPECT_TRUE(*sale_->leave_waiting_list(1, UserId("carl")));
  EXPECT_FALSE(*sale_->leave_waiting_list(1, UserId("carl")));
  sale_->cancel(first, "no");
  drain();
  EXPECT_EQ(stored(waits.order).user, UserId("bert"));
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
