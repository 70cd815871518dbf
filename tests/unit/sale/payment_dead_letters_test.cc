// Payments and cancellations among the dead letters.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeadPaymentsTest : public PaidSaleTest {
 protected:
  void poison(std::int64_t user) {
    backend_.orders().poison([user](const Order& order) { return order.user == user; },
                             faults::FaultyOrderStore::Poison::kIsRefused);
  }
  void heal() { backend_.orders().poison({}); }
  /// Lets the writes of this user become dead letters.
  void drain_poisoned(std::int64_t user) {
    poison(user);
    drain();
    heal();
  }
  /// Returns a stored order whose payment p1 is a dead letter.
  OrderId with_dead_payment() {
    const OrderId order = bought(5);
    drain();
    EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
    drain_poisoned(5);
    return order;
  }

  /// Retries every dead letter, oldest first.
  void retry_all() {
    const auto letters = sale_->dead_letters();
    ASSERT_TRUE(letters.ok()) << letters.status();
    for (const DeadLetter& letter : *letters) {
      EXPECT_TRUE(*sale_->retry_dead_letter(letter.id));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, DeadPaymentsTest, each_backend(), backend_name);

/// It demands no payment, so it has no hold either.
TEST_P(DeadPaymentsTest, ChangeOfDeadOrderIsRefusedWithReason) {
  Voucher free = paid_voucher();
  free.payment_ms = 0;
  ASSERT_EQ(sale_->publish(free), absl::OkStatus());
  const OrderId order = bought(5);
  drain_poisoned(5);
  for (const ChangeResult& result : {pay(order, "p1"), sale_->cancel(order, "no"),
                                     sale_->use(order), sale_->refund(order, "broken")}) {
    EXPECT_EQ(result.outcome, ChangeOutcome::kRefused);
    EXPECT_THAT(result.detail, HasSubstr("could not be stored: injected"));
  }
  retry_all();
  drain();
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kDone);
}

TEST_P(DeadPaymentsTest, AuditReportsDeadEvent) {
  publish();
  const OrderId order = with_dead_payment();

  EXPECT_THAT(problems(), ElementsAre(HasSubstr("has an event among the dead letters: paid")));
  retry_all();
  drain();
  EXPECT_EQ(states_of(order), "unpaid>paid");
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, RebuildCountsDeadPayment) {
  publish(1);
  const OrderId order = with_dead_payment();
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);

  EXPECT_NE(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone) << "it is paid";
  backend_.advance_ms(kPaymentMs);
  drain();
  retry_all();
  drain();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, RebuildCountsDeadCancellation) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  drain_poisoned(5);
  backend_.client()("DEL", "seckill:stock:1");

  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  retry_all();
  drain();

  EXPECT_EQ(states_of(order), "unpaid>cancelled");
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, DeadOrderWithDeadEventKeepsItsStatus) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain_poisoned(5);
  const auto letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), 2U);

  ASSERT_TRUE(*sale_->retry_dead_letter(letters[1].id)) << "the payment first";
  EXPECT_EQ(sale_->status(order)->location, OrderLocation::kDeadLetter);
  retry_all();
  drain();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_TRUE(sale_->dead_letters()->empty());
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, DeadOrderTimesOut) {
  publish(1);
  const OrderId order = bought(5);
  poison(5);
  drain();
  backend_.advance_ms(kPaymentMs);
  drain();
  heal();

  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  retry_all();
  drain();

  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled) << "although its piece is sold again";
  EXPECT_EQ(states_of(order), "unpaid>cancelled");
  EXPECT_EQ(changes().front().actor, "timeout");
  EXPECT_EQ(changes().front().reason, "not paid in time");
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, PaymentOfDeadOrderIsRefused) {
  publish();
  const OrderId order = bought(5);
  drain_poisoned(5);

  const ChangeResult dead = pay(order, "p1");
  EXPECT_EQ(dead.outcome, ChangeOutcome::kRefused);
  EXPECT_THAT(dead.detail, HasSubstr("could not be stored"));
  EXPECT_EQ(pay(order, "p2", kPrice + 1).outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(sale_->dead_letters()->size(), 1U);

  retry_all();
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();
  EXPECT_EQ(states_of(order), "unpaid>paid");
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, RepairHoldsOrderOfDiscardedPaymentAgain) {
  publish();
  const OrderId order = with_dead_payment();
  const auto letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), 1U);
  ASSERT_TRUE(*sale_->discard_dead_letter(letters[0].id, "refunded by hand"));
  bought(6);
  drain();  // trims the entry of the event

  EXPECT_THAT(sale_->repair()->repairs, ElementsAre(HasSubstr("payment p1 was discarded")));
  EXPECT_THAT(sale_->repair()->repairs, ElementsAre());

  drain();
  EXPECT_THAT(payments(), ElementsAre());
  EXPECT_EQ(stored(order).status, OrderStatus::kUnpaid);
  EXPECT_EQ(pay(order, "p2").outcome, ChangeOutcome::kDone);
  drain();
  EXPECT_THAT(payments(), ElementsAre("p2 kept"));
  expect_audit_passes();
}

TEST_P(DeadPaymentsTest, RebuildHoldsNoOrderDiscardedWithItsPayment) {
  publish();
  const OrderId order = bought(5);
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain_poisoned(5);
  const auto letters = *sale_->dead_letters();
  ASSERT_EQ(letters.size(), 2U);
  for (const DeadLetter& letter : letters) {
    ASSERT_TRUE(*sale_->discard_dead_letter(letter.id, "a test"));
  }
  bought(6);
  drain();  // trims the stream
  ASSERT_EQ(count_ended_holds(backend_.client()), 1);
  EXPECT_THAT(sale_->repair()->repairs,
              ElementsAre(HasSubstr("removed its end, the order was discarded")));
  EXPECT_TRUE(sale_->repair()->repairs.empty());
  backend_.client()("DEL", SaleKeys{}.stock(1), SaleKeys{}.voucher(1), SaleKeys{}.held());
  bought(7);

  EXPECT_FALSE(is_order_held(backend_.client(), order));
  EXPECT_EQ(count_ended_holds(backend_.client()), 0);
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_TRUE(sale_->dead_letters()->empty());
  EXPECT_EQ(free_stock(), 9) << "the discarded order keeps its piece";
}

}  // namespace
}  // namespace rushgate
