// The entries of one order on several workers, in the wrong order.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using Point = faults::FaultyOrderStore::Point;
using Step = OrderWorker::Step;

class PaymentWorkersTest : public PaidSaleTest {
 protected:
  PaymentWorkersTest() : other_(make_worker("c2")) {}

  /// Lets the first worker read the queue, without storing it: the others come too early.
  void read_without_storing() {
    backend_.orders().fail_writes();
    EXPECT_EQ(worker_->step().kind, Step::Kind::kPaused);
    backend_.orders().fail_writes(absl::OkStatus());
  }
  /// Expects that a step stores nothing, buries nothing and counts no fault.
  void expect_waits(const Step& step) {
    EXPECT_EQ(step.stored + step.changed + step.buried, 0U);
    EXPECT_EQ(step.faulted, 1U);
    EXPECT_EQ(faults(), 0);
  }
  std::int64_t faults() { return backend_.client()("HLEN", SaleKeys{}.faults()).integer(); }
  /// Steps both workers until neither has work left.
  void drain_both() {
    for (int i = 0; i < 3; ++i) {
      drain(*worker_);
      drain(*other_);
    }
    EXPECT_EQ(faults(), 0);
    EXPECT_TRUE(sale_->dead_letters()->empty());
  }
  /// Runs `happens` once, after the next write and before its results are used.
  void after_next_write(std::function<void()> happens) {
    backend_.orders().at_every_point(
        [happens = std::move(happens), done = false](Point point) mutable {
          if (point == Point::kAfterWrite && !std::exchange(done, true)) happens();
        });
  }

  std::unique_ptr<OrderWorker> other_;
};
INSTANTIATE_TEST_SUITE_P(Backends, PaymentWorkersTest, each_backend(), backend_name);

TEST_P(PaymentWorkersTest, PaymentBeforeItsOrderWaits) {
  publish();
  const OrderId order = bought(5);
  read_without_storing();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);

  expect_waits(other_->step());
  drain_both();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, SlowRetriesLeaveTurnToDeadWorkersEntries) {
  publish();
  const OrderId order = bought(5);
  read_without_storing();  // the first worker is not seen again
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  for (int i = 0; i < 20; ++i) {
    backend_.advance_ms(10'000);  // as long as a slow database takes: the next retry is due at once
    other_->step();
  }
  EXPECT_EQ(states_of(order), "unpaid>paid");
}

TEST_P(PaymentWorkersTest, SurplusPaymentBeforeItsOrderWaits) {
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  read_without_storing();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);

  expect_waits(other_->step());
  drain_both();

  EXPECT_THAT(payments(), ElementsAre("p1 due"));
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, SecondPurchaseBeforeCancellationWaits) {
  publish(1);
  const OrderId first = bought(5);
  drain();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  read_without_storing();
  const OrderId second = bought(5);

  expect_waits(other_->step());
  drain_both();

  EXPECT_EQ(stored(first).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, StockOfCancelledOrderSellsBeforeCancellation) {
  publish(1);
  const OrderId first = bought(5);
  read_without_storing();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  const OrderId second = bought(6);

  other_->step();
  EXPECT_EQ(faults(), 0);
  drain_both();

  EXPECT_EQ(stored(first).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

/// The second order is refused although its own hold stands: the piece of the first was sold again,
/// and that purchase is stored before the cancellation.
TEST_P(PaymentWorkersTest, OrderBetweenPurchaseAndCancellationIsStored) {
  publish(2);
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  read_without_storing();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  const OrderId third = bought(7);

  other_->step();
  drain_both();

  EXPECT_EQ(stored(first).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

/// The keyspace has given the piece back. The database does not know that yet.
TEST_P(PaymentWorkersTest, PieceOfHalfRefundIsSoldAgain) {
  publish(1);
  const OrderId first = bought(5);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  drain();
  backend_.orders().fail_write(2);
  ASSERT_NE(sale_->refund(first, "broken").outcome, ChangeOutcome::kDone);
  const OrderId second = bought(6);

  drain_both();

  EXPECT_EQ(stored(first).status, OrderStatus::kRefunded);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

/// The other worker's write is refused. Before it looks for earlier entries, the first worker has
/// applied and acknowledged the cancellation.
TEST_P(PaymentWorkersTest, CancellationAppliedDuringRefusalBuriesNothing) {
  publish(1);
  const OrderId first = bought(5);
  drain();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  read_without_storing();
  const OrderId second = bought(5);
  backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  after_next_write([&] { EXPECT_EQ(worker_->step().changed, 1U); });

  const Step step = other_->step();

  EXPECT_EQ(step.stored, 1U);
  EXPECT_EQ(step.buried + step.faulted, 0U);
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  drain_both();
  expect_audit_passes();
}

/// A refund gives a piece back, and the second user takes it. The database refuses that order, for it
/// does not know the end of the refund. Before it is written again, it is cancelled, its piece is sold
/// once more, and that purchase is stored.
TEST_P(PaymentWorkersTest, OrderCancelledDuringRefusalIsNotBuried) {
  publish(1);
  const OrderId first = bought(5);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  drain_both();
  constexpr int kEndOfRefund = 2;
  constexpr int kWrittenAgain = 5;
  OrderId second = 0;
  OrderId third = 0;
  backend_.orders().at_every_point([&, write = 0](Point point) mutable {
    if (point != Point::kBeforeWrite) return;
    ++write;
    if (write == kEndOfRefund) {
      second = bought(6);
      EXPECT_EQ(worker_->step().buried, 0U);
    } else if (write == kWrittenAgain) {
      EXPECT_EQ(sale_->cancel(second, "no").outcome, ChangeOutcome::kDone);
      third = bought(7);
      other_->step();
      EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
    }
  });

  ASSERT_EQ(sale_->refund(first, "broken").outcome, ChangeOutcome::kDone);

  ASSERT_NE(third, 0) << "it was written again";
  EXPECT_EQ(pay(second, "p2").outcome, ChangeOutcome::kTooLate);
  drain_both();
  EXPECT_EQ(states_of(second), "unpaid>cancelled");
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
  EXPECT_THAT(payments(), ElementsAre("p1 due", "p2 due"));
  expect_audit_passes();
}

/// The cancellation of another order cures no order whose key is used.
TEST_P(PaymentWorkersTest, IncurableOrderCancelledBesideIsBuried) {
  Voucher unlimited = paid_voucher(9);
  unlimited.limits.per_user = 0;
  ASSERT_TRUE(sale_->publish(unlimited).ok());
  const OrderId other = bought(6);
  EXPECT_EQ(sale_->buy(1, 5, "click").outcome, Outcome::kAccepted);
  drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  EXPECT_EQ(sale_->buy(1, 5, "click").outcome, Outcome::kAccepted);
  constexpr int kWrittenAgain = 2;
  before_write(kWrittenAgain,
               [&] { EXPECT_EQ(sale_->cancel(other, "no").outcome, ChangeOutcome::kDone); });

  const Step step = worker_->step();

  EXPECT_EQ(step.buried, 1U);
  EXPECT_EQ(step.faulted, 0U);
}

/// As above, but before the order is written again, another refund begins and remains unfinished, and its
/// piece is sold and stored. The order waits, and its payment with it: neither has a fault, even where one
/// would bury it.
TEST_P(PaymentWorkersTest, OrderWaitsForUnfinishedRefund) {
  publish(2);
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(pay(second, "p2").outcome, ChangeOutcome::kDone);
  drain_both();
  const auto strict = make_worker("c3", {.attempts_max = 1});
  constexpr int kEndOfRefund = 2;
  constexpr int kWrittenAgain = 5;
  OrderId third = 0;
  OrderId fourth = 0;
  Step step;
  backend_.orders().at_every_point([&, write = 0](Point point) mutable {
    if (point != Point::kBeforeWrite) return;
    ++write;
    if (write == kEndOfRefund) {
      third = bought(7);
      EXPECT_EQ(pay(third, "p3").outcome, ChangeOutcome::kDone);
      step = strict->step();
    } else if (write == kWrittenAgain) {
      backend_.orders().fail_write(kEndOfRefund);
      EXPECT_NE(sale_->refund(second, "broken").outcome, ChangeOutcome::kDone);
      fourth = bought(8);
      EXPECT_EQ(other_->step().stored, 1U);
    }
  });

  ASSERT_EQ(sale_->refund(first, "broken").outcome, ChangeOutcome::kDone);

  ASSERT_NE(fourth, 0) << "it was written again";
  EXPECT_EQ(step.stored + step.changed + step.buried, 0U);
  EXPECT_EQ(step.faulted, 2U);
  EXPECT_EQ(faults(), 0);
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain(*strict);
  drain_both();
  EXPECT_EQ(stored(second).status, OrderStatus::kRefunded);
  EXPECT_EQ(states_of(third), "unpaid>paid");
  EXPECT_EQ(stored(fourth).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

/// Two orders are refused until the cancellations before them are applied. Then one is at fault for a
/// while.
TEST_P(PaymentWorkersTest, FaultOfOneOrderBuriesNoOther) {
  publish(4);
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  const OrderId third = bought(8);
  const OrderId fourth = bought(9);
  read_without_storing();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->cancel(second, "no").outcome, ChangeOutcome::kDone);
  bought(7);
  bought(10);
  EXPECT_EQ(other_->step().stored, 2U);
  backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  constexpr int kApplied = 2;
  before_write(kApplied, [&] {
    backend_.orders().poison([](const Order& order) { return order.user == 9; });
  });

  const Step step = worker_->step();

  EXPECT_EQ(step.stored, 3U);
  EXPECT_EQ(step.faulted, 1U);
  EXPECT_EQ(step.buried, 0U);
  backend_.orders().at_every_point({});
  backend_.orders().poison({});
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain_both();
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
  EXPECT_EQ(stored(fourth).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, OrderStoredDuringEarlyPaymentCountsNoFault) {
  publish(1);
  const OrderId order = bought(5);
  read_without_storing();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  after_next_write([&] { EXPECT_EQ(worker_->step().stored, 1U); });

  EXPECT_EQ(other_->step().changed, 1U);

  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  drain_both();
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, DeadWorkersOrderIsClaimedBeforeItsPayment) {
  publish();
  const OrderId order = bought(5);
  read_without_storing();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  worker_.reset();
  expect_waits(other_->step());

  backend_.advance_ms(WorkerOptions{}.claim_idle_ms);
  drain(*other_);
  drain(*other_);

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_EQ(faults(), 0);
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, DeadWorkersCancellationIsClaimedBeforeSecondPurchase) {
  publish(1);
  const OrderId first = bought(5);
  drain();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  read_without_storing();
  const OrderId second = bought(5);
  worker_.reset();
  expect_waits(other_->step());

  // The second order times out too, unless it is paid.
  ASSERT_EQ(pay(second, "p2").outcome, ChangeOutcome::kDone);
  backend_.advance_ms(WorkerOptions{}.claim_idle_ms);
  drain(*other_);
  drain(*other_);

  EXPECT_EQ(stored(first).status, OrderStatus::kCancelled);
  EXPECT_EQ(states_of(second), "unpaid>paid");
  EXPECT_TRUE(sale_->dead_letters()->empty());
  expect_audit_passes();
}

/// The caller has looked for the payment in the database. Then a worker stores it, and the keyspace
/// forgets it.
TEST_P(PaymentWorkersTest, PaymentStoredDuringRepetitionIsDone) {
  publish();
  const OrderId order = bought(5);
  const OrderId other = bought(6);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  int reads = 0;
  backend_.orders().before_every_read([&] {
    if (++reads == 2) drain();
  });
  const PayRequest requests[] = {{.order = order, .payment = "p1", .amount_cents = kPrice},
                                 {.order = other, .payment = "p2", .amount_cents = kPrice}};

  const std::vector<ChangeResult> results = sale_->pay_all(requests);

  backend_.orders().before_every_read({});
  EXPECT_EQ(results[0].outcome, ChangeOutcome::kDone) << results[0].detail;
  EXPECT_TRUE(results[0].is_repeated);
  EXPECT_EQ(results[1].outcome, ChangeOutcome::kDone) << results[1].detail;
  drain_both();
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 kept"));
  expect_audit_passes();
}

/// The caller has looked for the payment in the database. Then a worker stores the payment of the
/// other order.
TEST_P(PaymentWorkersTest, PaymentIdStoredMeanwhileIsRefused) {
  publish();
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  const OrderId third = bought(7);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  int reads = 0;
  backend_.orders().before_every_read([&] {
    if (++reads == 2) drain();
  });
  const PayRequest requests[] = {{.order = second, .payment = "p1", .amount_cents = kPrice},
                                 {.order = third, .payment = "p2", .amount_cents = kPrice}};

  const std::vector<ChangeResult> results = sale_->pay_all(requests);

  backend_.orders().before_every_read({});
  EXPECT_EQ(results[0].outcome, ChangeOutcome::kRefused) << results[0].detail;
  EXPECT_EQ(results[1].outcome, ChangeOutcome::kDone) << results[1].detail;
  drain_both();
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 kept"));
  expect_audit_passes();
}

TEST_P(PaymentWorkersTest, StoredPaymentIsForgottenAfterMinute) {
  const SaleKeys keys;
  publish();
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();

  backend_.advance_ms(60'000);
  drain();
  EXPECT_EQ(backend_.client()("HLEN", keys.payments()), Reply::integer(1));
  backend_.advance_ms(10'001);
  drain();
  EXPECT_EQ(backend_.client()("HLEN", keys.payments()), Reply::integer(0));
  EXPECT_EQ(backend_.client()("XLEN", keys.stored_payments()), Reply::integer(0));
  EXPECT_TRUE(pay(order, "p1").is_repeated);
}

/// The user bought under the old limit of 1, and once more under a limit of 3.
TEST_P(PaymentWorkersTest, OrderUnderRaisedLimitIsStoredFirst) {
  publish();
  const OrderId first = bought(5);
  read_without_storing();
  Voucher raised = paid_voucher();
  raised.limits.per_user = 3;
  ASSERT_TRUE(sale_->publish(raised).ok());
  const OrderId second = bought(5);

  other_->step();
  EXPECT_EQ(stored(second).status, OrderStatus::kUnpaid);
  drain_both();

  EXPECT_EQ(stored(first).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
