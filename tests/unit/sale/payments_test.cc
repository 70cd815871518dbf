// Payments, cancellations and timeouts of orders, on every backend.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using PaymentsTest = PaidSaleTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(PaymentsTest, OrderNamesItsPrice) {
  publish();
  const BuyResult bought = sale_->buy({.voucher = 1, .user = 5, .reference = "till 3"});
  ASSERT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
  drain();

  const Order order = stored(bought.order);

  EXPECT_EQ(order.status, OrderStatus::kUnpaid);
  EXPECT_EQ(order.version, 1);
  EXPECT_EQ(order.price_cents, kPrice);
  EXPECT_EQ(order.quantity, 1);
  EXPECT_EQ(order.reference, "till 3");
  EXPECT_EQ(order.due_at_ms, order.admitted_at_ms + kPaymentMs);
  expect_audit_passes();
}

TEST_P(PaymentsTest, PriceIsThatOfAdmission) {
  publish();
  const OrderId order = bought(5);
  Voucher dearer = paid_voucher();
  dearer.price_cents = 2 * kPrice;
  ASSERT_TRUE(sale_->publish(dearer).ok());

  EXPECT_EQ(pay(order, "p1", 2 * kPrice).outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();

  EXPECT_EQ(stored(order).price_cents, kPrice);
  EXPECT_EQ(stored(order).version, 1);
  expect_audit_passes();
}

TEST_P(PaymentsTest, ChangesWithoutKeyspaceAreUnavailable) {
  publish();
  const OrderId order = bought(5);
  drain();
  backend_.close();

  for (const ChangeResult& result :
       {pay(order, "p1"), sale_->cancel(order, "no keyspace"), sale_->use(order),
        sale_->refund(order, "no keyspace"), sale_->confirm_refund("p1")}) {
    EXPECT_EQ(result.outcome, ChangeOutcome::kUnavailable) << result.detail;
  }
}

TEST_P(PaymentsTest, ImpossibleOrderIdsAreUnknown) {
  publish();
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  const PayRequest requests[] = {{.order = first, .payment = "p1", .amount_cents = kPrice},
                                 {.order = -5, .payment = "p2", .amount_cents = kPrice},
                                 {.order = 0, .payment = "p3", .amount_cents = kPrice},
                                 {.order = second, .payment = "p4", .amount_cents = kPrice}};

  std::vector<ChangeOutcome> outcomes;
  for (const ChangeResult& result : sale_->pay_all(requests)) outcomes.push_back(result.outcome);

  EXPECT_THAT(outcomes, ElementsAre(ChangeOutcome::kDone, ChangeOutcome::kUnknownOrder,
                                    ChangeOutcome::kUnknownOrder, ChangeOutcome::kDone));
  EXPECT_EQ(pay(-5, "p5").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->cancel(-5, "no").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->use(-5).outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->refund(-5, "no").outcome, ChangeOutcome::kUnknownOrder);
}

TEST_P(PaymentsTest, AmountBeyondEveryPriceIsRefused) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);

  const ChangeResult refused = pay(order, "p2", std::numeric_limits<std::int64_t>::max());

  EXPECT_EQ(refused.outcome, ChangeOutcome::kRefused);
  EXPECT_THAT(refused.detail, HasSubstr("not 9223372036854775807"));
}

TEST_P(PaymentsTest, SumsBeyondRangeFailAudit) {
  publish();
  const OrderId order = bought(5);
  drain();
  const auto state = backend_.orders().state().value();
  for (const auto& [id, amount] : {std::pair("p1", std::numeric_limits<std::int64_t>::max()),
                                   {"p2", std::numeric_limits<std::int64_t>::max()},
                                   {"p3", std::int64_t{10}}}) {
    OrderEvent surplus{.kind = OrderEvent::Kind::kSurplusPayment, .reason = "of an older version"};
    surplus.order.id = order;
    surplus.payment = {.id = id, .order = order, .amount_cents = amount};
    ASSERT_TRUE(backend_.orders()
                    .apply({&surplus, 1}, {.epoch = state.epoch, .checkpoint = state.checkpoint})
                    .ok());
  }

  const auto report = sale_->audit();

  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->money.received, std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(report->problems, ElementsAre(HasSubstr("payment p2 of 9223372036854775807 cents"),
                                            HasSubstr("payment p3 of 10 cents")));
}

TEST_P(PaymentsTest, PaidBeforeItIsStored) {
  publish();
  const OrderId order = bought(5);

  const ChangeResult paid = pay(order, "p1");

  EXPECT_EQ(paid.outcome, ChangeOutcome::kDone) << paid.detail;
  EXPECT_FALSE(paid.is_repeated);
  expect_audit_passes();
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, PaidAfterItIsStored) {
  publish();
  const OrderId order = bought(5);
  drain();

  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();

  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  EXPECT_EQ(states_of(order), "unpaid>paid");
  expect_audit_passes();
}

TEST_P(PaymentsTest, SamePaymentIsIdempotent) {
  publish();
  const OrderId order = bought(5);
  EXPECT_FALSE(pay(order, "p1").is_repeated);

  for (const bool is_stored : {false, true}) {
    if (is_stored) drain();
    const ChangeResult again = pay(order, "p1");
    EXPECT_EQ(again.outcome, ChangeOutcome::kDone) << again.detail;
    EXPECT_TRUE(again.is_repeated);
    EXPECT_EQ(again.status, OrderStatus::kPaid);
  }

  drain();
  EXPECT_EQ(payments().size(), 1U);
  expect_audit_passes();
}

TEST_P(PaymentsTest, SecondPaymentIsDueBack) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(pay(order, "p2").outcome, ChangeOutcome::kTooLate);
  drain();
  EXPECT_EQ(pay(order, "p3").outcome, ChangeOutcome::kTooLate);
  EXPECT_TRUE(pay(order, "p2").is_repeated);
  drain();

  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 due", "p3 due"));
  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, PaymentOfAnotherOrderIsRefused) {
  publish();
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(pay(second, "p1").outcome, ChangeOutcome::kRefused) << "not stored yet";
  drain();
  EXPECT_EQ(pay(second, "p1").outcome, ChangeOutcome::kRefused) << "stored";

  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, WrongAmountIsRefused) {
  publish();
  const OrderId order = bought(5);

  const ChangeResult wrong = pay(order, "p1", kPrice - 1);

  EXPECT_EQ(wrong.outcome, ChangeOutcome::kRefused);
  EXPECT_THAT(wrong.detail, HasSubstr(std::to_string(kPrice)));
  drain();
  EXPECT_TRUE(payments().empty());
  EXPECT_EQ(stored(order).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, PaymentOfRefundedOrderIsRepeated) {
  publish();
  const OrderId order = bought(5);
  pay(order, "p1");
  pay(order, "p2");
  drain();
  ASSERT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);

  for (const bool is_confirmed : {false, true}) {
    if (is_confirmed) {
      ASSERT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kDone);
    }
    const ChangeResult again = pay(order, "p1");
    EXPECT_EQ(again.outcome, ChangeOutcome::kDone) << again.detail;
    EXPECT_TRUE(again.is_repeated);
    EXPECT_EQ(again.status, OrderStatus::kRefunded);
    EXPECT_EQ(pay(order, "p2").outcome, ChangeOutcome::kTooLate) << "as at first";
  }
}

/// A transaction would wait for the worker's, and delay it.
TEST_P(PaymentsTest, UnknownIdsCostNoTransaction) {
  publish();
  const OrderId order = bought(5) + 1'000;
  const int writes = backend_.orders().writes();
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->cancel(order, "gone").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(backend_.orders().writes(), writes);
}

TEST_P(PaymentsTest, UnknownOrderAndInvalidPayments) {
  publish();
  const OrderId order = bought(5);

  EXPECT_EQ(pay(order + 1, "p1").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(sale_->cancel(order + 1, "gone").outcome, ChangeOutcome::kUnknownOrder);
  EXPECT_EQ(pay(order, "").outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(pay(order, std::string(65, 'x')).outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(pay(order, "p 1").outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(pay(order, "p1", 0).outcome, ChangeOutcome::kRefused);
}

TEST_P(PaymentsTest, OrderWithoutPaymentTakesNone) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const OrderId order = bought(5);
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kRefused);
  drain();
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(stored(order).status, OrderStatus::kCreated);
}

// ---- The end of a hold ----

TEST_P(PaymentsTest, CancelGivesBackOnce) {
  publish(1);
  const OrderId order = bought(5);
  ASSERT_EQ(buy(1, 6), Outcome::kSoldOut);

  EXPECT_EQ(sale_->cancel(order, "changed my mind").outcome, ChangeOutcome::kDone);
  const ChangeResult again = sale_->cancel(order, "changed my mind");

  EXPECT_EQ(again.outcome, ChangeOutcome::kDone);
  EXPECT_TRUE(again.is_repeated);
  EXPECT_EQ(free_stock(), 1);
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 7), Outcome::kSoldOut);
  drain();
  EXPECT_TRUE(sale_->cancel(order, "again").is_repeated);
  EXPECT_EQ(states_of(order), "unpaid>cancelled");
  expect_audit_passes();
}

TEST_P(PaymentsTest, CancelledUserBuysAgain) {
  publish(1);
  const OrderId first = bought(5);
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  const OrderId second = bought(5);  // both meet in one batch of the worker
  drain();

  EXPECT_EQ(stored(first).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, UnpaidOrderTimesOut) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  backend_.advance_ms(kPaymentMs - 1);
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kUnpaid);

  backend_.advance_ms(1);
  drain();

  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(PaymentsTest, TimeoutFiresAfterRestart) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  restart();
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  expect_audit_passes();
}

TEST_P(PaymentsTest, TimeoutsFireInOrder) {
  publish(100);
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= 5; ++user) {
    orders.push_back(bought(user));
    backend_.advance_ms(10);
  }
  backend_.advance_ms(kPaymentMs);
  drain();

  std::vector<OrderId> ended;
  for (const OrderChange& change : changes()) ended.push_back(change.order);
  EXPECT_EQ(ended, orders);
  expect_audit_passes();
}

TEST_P(PaymentsTest, LatePaymentIsDueBack) {
  publish(1);
  const OrderId order = bought(5);
  backend_.advance_ms(kPaymentMs);
  worker_->step();

  const ChangeResult late = pay(order, "p1");

  EXPECT_EQ(late.outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(late.status, OrderStatus::kCancelled);
  drain();
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_TRUE(pay(order, "p1").is_repeated);
  expect_audit_passes();

  EXPECT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kDone);
  EXPECT_TRUE(sale_->confirm_refund("p1").is_repeated);
  EXPECT_THAT(payments(), ElementsAre("p1 refunded"));
}

TEST_P(PaymentsTest, RefundOfQueuedPaymentMustWait) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);

  EXPECT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kOverloaded);
  EXPECT_EQ(sale_->confirm_refund("p2").outcome, ChangeOutcome::kRefused) << "unknown";
  drain();

  EXPECT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kDone);
  EXPECT_TRUE(sale_->confirm_refund("p1").is_repeated);
}

TEST_P(PaymentsTest, CancelOfPaidOrderIsTooLate) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  for (const bool is_stored : {false, true}) {
    if (is_stored) drain();
    const ChangeResult result = sale_->cancel(order, "no");
    EXPECT_EQ(result.outcome, ChangeOutcome::kTooLate);
    EXPECT_EQ(result.status, OrderStatus::kPaid);
  }
  expect_audit_passes();
}

// ---- Giving back ----

TEST_P(PaymentsTest, VoucherMayKeepStock) {
  Voucher kept = paid_voucher(1);
  kept.restock = false;
  ASSERT_TRUE(sale_->publish(kept).ok());
  const OrderId order = bought(5);
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  expect_audit_passes();
  drain();
  expect_audit_passes();
  EXPECT_TRUE(stored(order).keeps_stock);
}

TEST_P(PaymentsTest, VoucherMayKeepAllowance) {
  Voucher kept = paid_voucher(1);
  kept.restore_allowance = false;
  ASSERT_TRUE(sale_->publish(kept).ok());
  const OrderId order = bought(5);
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(buy(1, 5), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  expect_audit_passes();
  drain();
  expect_audit_passes();
  EXPECT_TRUE(stored(order).keeps_allowance);
}

TEST_P(PaymentsTest, LimitsPerDayAndInTotalComeBack) {
  Voucher limited = paid_voucher(10);
  limited.limits = {.total = 3, .per_user = 3, .per_user_day = 2};
  ASSERT_TRUE(sale_->publish(limited).ok());
  const OrderId first = bought(5);
  bought(5);
  ASSERT_EQ(buy(1, 5), Outcome::kDayLimitReached);
  bought(6);
  ASSERT_EQ(buy(1, 7), Outcome::kSoldOut) << "the total";

  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(PaymentsTest, QuantityCountsPieces) {
  Voucher limited = paid_voucher(10);
  limited.limits = {.per_user = 4};
  ASSERT_TRUE(sale_->publish(limited).ok());

  const BuyResult three = sale_->buy({.voucher = 1, .user = 5, .quantity = 3});
  ASSERT_EQ(three.outcome, Outcome::kAccepted) << three.detail;
  EXPECT_EQ(sale_->buy({.voucher = 1, .user = 5, .quantity = 2}).outcome, Outcome::kLimitReached);
  EXPECT_EQ(sale_->buy({.voucher = 1, .user = 6, .quantity = 8}).outcome, Outcome::kSoldOut);
  EXPECT_EQ(free_stock(), 7);
  EXPECT_EQ(pay(three.order, "p1").outcome, ChangeOutcome::kRefused) << "the price of one piece";
  EXPECT_EQ(pay(three.order, "p1", 3 * kPrice).outcome, ChangeOutcome::kDone);
  const BuyResult four = sale_->buy({.voucher = 1, .user = 6, .quantity = 4});
  ASSERT_EQ(four.outcome, Outcome::kAccepted);
  EXPECT_EQ(sale_->cancel(four.order, "no").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(free_stock(), 7);
  EXPECT_EQ(sale_->buy({.voucher = 1, .user = 7, .quantity = 0}).outcome, Outcome::kFailed);
  EXPECT_EQ(sale_->buy({.voucher = 1, .user = 7, .quantity = 10'001}).outcome, Outcome::kFailed);
  drain();
  EXPECT_EQ(stored(three.order).quantity, 3);
  expect_audit_passes();
}

TEST_P(PaymentsTest, IdempotencyKeyCoversQuantity) {
  Voucher limited = paid_voucher(10);
  limited.limits = {.per_user = 5};
  ASSERT_TRUE(sale_->publish(limited).ok());
  BuyRequest request{.voucher = 1, .user = 5, .idempotency_key = "k", .quantity = 2};
  const BuyResult first = sale_->buy(request);
  EXPECT_EQ(sale_->buy(request).order, first.order);
  request.quantity = 1;
  EXPECT_EQ(sale_->buy(request).outcome, Outcome::kKeyReused);
}

// ---- Use and refunds ----

TEST_P(PaymentsTest, PaidOrderIsUsed) {
  publish();
  const OrderId order = bought(5);
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kOverloaded) << "not stored yet";
  drain();
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kTooLate) << "not paid";
  pay(order, "p1");
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kOverloaded) << "its payment is not stored";
  drain();

  EXPECT_EQ(sale_->use(order, "gate 4").outcome, ChangeOutcome::kDone);
  EXPECT_TRUE(sale_->use(order, "gate 4").is_repeated);
  EXPECT_EQ(states_of(order), "unpaid>paid>used");
  EXPECT_EQ(changes().back().actor, "gate 4");
  expect_audit_passes();
}

TEST_P(PaymentsTest, RefundGivesBackOnce) {
  publish(1);
  const OrderId order = bought(5);
  pay(order, "p1");
  drain();

  EXPECT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  EXPECT_TRUE(sale_->refund(order, "broken").is_repeated);

  EXPECT_EQ(free_stock(), 1);
  EXPECT_EQ(states_of(order), "unpaid>paid>refunding>refunded");
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

/// A second call has read the order. Then the first one ends the refund, and the voucher's keys are
/// rebuilt.
TEST_P(PaymentsTest, ConcurrentRefundAcrossRebuildGivesBackOnce) {
  publish(1);
  const OrderId order = bought(5);
  pay(order, "p1");
  drain();
  bool is_armed = false;
  HookedBackend slow(backend_.keyspace(), {.before = [&](const Request& request) {
                       if (request[0] == "HEXISTS" || !std::exchange(is_armed, false)) return;
                       EXPECT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
                       backend_.client()("DEL", SaleKeys{}.stock(1));
                       EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
                     }});
  const auto second = open_sale(slow);
  is_armed = true;

  const ChangeResult refunded = second->refund(order, "broken");

  EXPECT_EQ(refunded.outcome, ChangeOutcome::kDone) << refunded.detail;
  EXPECT_FALSE(is_armed);
  EXPECT_EQ(buy(1, 7), Outcome::kSoldOut);
  drain();
  EXPECT_EQ(states_of(order), "unpaid>paid>refunding>refunded");
  expect_audit_passes();
}

/// The voucher was rebuilt in an epoch that an older copy of the database has not reached.
TEST_P(PaymentsTest, OlderDatabaseRefunds) {
  publish(1);
  const OrderId order = bought(5);
  pay(order, "p1");
  drain();
  backend_.client()("HSET", SaleKeys{}.voucher(1), "epoch", 1'000);

  const ChangeResult refunded = sale_->refund(order, "broken");

  EXPECT_EQ(refunded.outcome, ChangeOutcome::kDone) << refunded.detail;
  EXPECT_EQ(free_stock(), 1);
  expect_audit_passes();
}

TEST_P(PaymentsTest, CalledOffSaleRefundsEveryOrder) {
  publish(10);
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= 6; ++user) orders.push_back(bought(user));
  pay(orders[0], "p0");
  pay(orders[1], "p1");
  sale_->cancel(orders[2], "no");
  drain();
  ASSERT_EQ(sale_->use(orders[1]).outcome, ChangeOutcome::kDone);
  ASSERT_TRUE(sale_->close(1).ok());

  const auto refunded = sale_->refund_all(1, "called off");
  ASSERT_TRUE(refunded.ok()) << refunded.status();
  EXPECT_EQ(*refunded, 5U);
  EXPECT_EQ(*sale_->refund_all(1, "called off"), 0U);
  drain();

  EXPECT_THAT(payments(), ElementsAre("p0 due", "p1 due"));
  EXPECT_EQ(free_stock(), 10);
  for (const OrderId order : orders) EXPECT_FALSE(is_live(stored(order)));
  expect_audit_passes();
}

// ---- Rebuilds ----

TEST_P(PaymentsTest, RebuildKeepsEveryState) {
  publish(20);
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= 8; ++user) orders.push_back(bought(user));
  pay(orders[0], "p0");
  sale_->cancel(orders[1], "no");
  drain();               // those are stored …
  pay(orders[2], "p2");  // … these are not
  sale_->cancel(orders[3], "no");
  orders.push_back(bought(9));
  const std::int64_t free = free_stock();
  backend_.client()("DEL", "seckill:stock:1", "seckill:voucher:1");

  EXPECT_EQ(buy(1, 100), Outcome::kAccepted) << "after a rebuild";

  EXPECT_EQ(free_stock(), free - 1);
  expect_audit_passes();
  EXPECT_EQ(pay(orders[0], "other").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(sale_->cancel(orders[2], "no").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(pay(orders[4], "p4").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(pay(orders[8], "p8").outcome, ChangeOutcome::kDone);
  drain();
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(orders[5]).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(orders[4]).status, OrderStatus::kPaid);
  expect_audit_passes();
}

TEST_P(PaymentsTest, FailedPaymentOfBatchFailsAlone) {
  publish();
  const OrderId first = bought(1);
  const OrderId second = bought(2);
  const OrderId third = bought(3);
  backend_.client()("HSET", SaleKeys{}.payments(), "p2", "damaged");

  const std::vector<PayRequest> requests = {
      {.order = first, .payment = "p1", .amount_cents = kPrice},
      {.order = second, .payment = "p2", .amount_cents = kPrice},
      {.order = third, .payment = "p3", .amount_cents = kPrice},
      {.order = second, .payment = "p1", .amount_cents = kPrice}};
  const std::vector<ChangeResult> results = sale_->pay_all(requests);

  EXPECT_EQ(results.at(0).outcome, ChangeOutcome::kDone) << results[0].detail;
  EXPECT_NE(results.at(1).outcome, ChangeOutcome::kDone);
  EXPECT_EQ(results.at(2).outcome, ChangeOutcome::kDone) << results[2].detail;
  EXPECT_EQ(results.at(3).outcome, ChangeOutcome::kRefused) << "an id of the same batch";
  drain();
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  EXPECT_EQ(stored(third).status, OrderStatus::kPaid);
  backend_.client()("HDEL", SaleKeys{}.payments(), "p2");
  expect_audit_passes();
}

TEST_P(PaymentsTest, WrongTypeFailsForAcceptedUsersAlone) {
  publish();
  bought(1);
  const std::vector<BuyRequest> requests = {{.voucher = 1, .user = 1}, {.voucher = 1, .user = 2}};
  for (const std::string& key : {SaleKeys{}.deadlines(), SaleKeys{}.held()}) {
    backend_.client()("RENAME", key, "elsewhere");
    backend_.client()("SET", key, "x");

    const std::vector<BuyResult> results = sale_->buy_all(requests);

    EXPECT_EQ(results[0].outcome, Outcome::kLimitReached) << results[0].detail;
    EXPECT_EQ(results[1].outcome, Outcome::kFailed);
    EXPECT_THAT(results[1].detail, HasSubstr("WRONGTYPE"));
    backend_.client()("RENAME", "elsewhere", key);
  }
  bought(2);
  expect_audit_passes();
}

TEST_P(PaymentsTest, PresentStateIsReportedAfterLostReport) {
  publish();
  const OrderId order = bought(1);
  drain();
  pay(order, "p1");
  backend_.orders().fail_write(1, faults::FaultyOrderStore::Kept::kYes);
  worker_->step();
  ASSERT_EQ(stored(order).status, OrderStatus::kPaid);
  ASSERT_EQ(count_ended_holds(backend_.client()), 1);
  ASSERT_EQ(sale_->use(order).outcome, ChangeOutcome::kDone);

  EXPECT_EQ(sale_->cancel(order, "late").status, OrderStatus::kUsed);
  EXPECT_EQ(pay(order, "p2").status, OrderStatus::kUsed);

  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kUsed);
  expect_audit_passes();
}

TEST_P(PaymentsTest, DeadlinesOfPaidOrdersDelayNoTimeout) {
  constexpr std::int64_t kPaid = 1'500;
  publish(kPaid + 1);
  std::vector<PayRequest> payments;
  for (std::int64_t user = 1; user <= kPaid;
       ++user) {  // one by one: each has a deadline of its own
    const OrderId order = bought(user);
    payments.push_back({.order = order, .payment = std::to_string(user), .amount_cents = kPrice});
  }
  for (const ChangeResult& result : sale_->pay_all(payments)) {
    EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
  }
  const OrderId unpaid = bought(kPaid + 1);
  drain();
  backend_.advance_ms(kPaymentMs);

  drain();

  EXPECT_EQ(stored(unpaid).status, OrderStatus::kCancelled);
  EXPECT_EQ(free_stock(), 1);
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(backend_.client()("ZCARD", SaleKeys{}.deadlines()), Reply::integer(0));
}

TEST_P(PaymentsTest, LostHoldsAreRebuilt) {
  publish(20);
  const OrderId stored_order = bought(1);
  drain();
  const OrderId queued_order = bought(2);
  const OrderId expiring = bought(3);
  backend_.client()("DEL", "seckill:deadlines", "seckill:held");

  EXPECT_EQ(pay(queued_order, "p2").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(pay(stored_order, "p1").outcome, ChangeOutcome::kDone);
  drain();
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(expiring).status, OrderStatus::kCancelled);
  expect_audit_passes();
}

TEST_P(PaymentsTest, LostVoucherIsRebuiltForItsTimeouts) {
  publish(20);
  const OrderId order = bought(1);
  drain();
  backend_.client()("DEL", "seckill:stock:1", "seckill:voucher:1", "seckill:deadlines",
                    "seckill:held");

  backend_.advance_ms(kPaymentMs);
  drain();
  drain();

  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(free_stock(), 20);
  expect_audit_passes();
}

// ---- Audit ----

TEST_P(PaymentsTest, AuditCountsTheMoney) {
  publish(10);
  pay(bought(1), "p1");
  const OrderId second = bought(2);
  pay(second, "p2");
  pay(second, "p2b");
  drain();
  sale_->refund(second, "broken");
  sale_->confirm_refund("p2");

  const auto report = sale_->audit();

  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_EQ(
      report->money,
      (MoneyAudit{.received = 3 * kPrice, .kept = kPrice, .due = kPrice, .refunded = kPrice}));
}

TEST_P(PaymentsTest, AuditFindsContradictions) {
  publish(10);
  const OrderId paid = bought(1);
  pay(paid, "p1");
  const OrderId unpaid = bought(2);
  drain();
  set_hold(unpaid, "");
  set_hold(paid, "1 1 1 250 1 1");

  const auto report = sale_->audit();

  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->problems,
              ::testing::UnorderedElementsAre(HasSubstr("is unpaid and is not held"),
                                              HasSubstr("is paid and is held")));
}

TEST_P(PaymentsTest, RepairMendsHolds) {
  publish(10);
  const OrderId paid = bought(1);
  pay(paid, "p1");
  const OrderId unpaid = bought(2);
  drain();
  set_hold(unpaid, "");
  set_hold(paid, "1 1 1 250 1 1");

  const auto report = sale_->repair();

  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_EQ(report->repairs.size(), 2U) << ::testing::PrintToString(report->repairs);
  EXPECT_EQ(pay(unpaid, "p2").outcome, ChangeOutcome::kDone);
  EXPECT_THAT(sale_->repair()->repairs, ::testing::IsEmpty());
}

TEST_P(PaymentsTest, RepairAppendsLostEvents) {
  publish(10);
  const OrderId paid = bought(1);
  const OrderId cancelled = bought(2);
  drain();
  pay(paid, "p1");
  sale_->cancel(cancelled, "no");
  backend_.client()("XTRIM", "stream.orders", "MAXLEN", 0);

  const auto report = sale_->repair();

  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->repairs.size(), 2U) << ::testing::PrintToString(report->repairs);
  drain();
  EXPECT_EQ(stored(paid).status, OrderStatus::kPaid);
  EXPECT_EQ(stored(cancelled).status, OrderStatus::kCancelled);
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  EXPECT_THAT(sale_->repair()->repairs, ::testing::IsEmpty());
  expect_audit_passes();
}

INSTANTIATE_TEST_SUITE_P(Backends, PaymentsTest, each_backend(), backend_name);

}  // namespace
}  // namespace rushgate
