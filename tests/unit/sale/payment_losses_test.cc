// Payments, cancellations, timeouts and refunds on a keyspace that lost its newest writes.
//
// A payment, cancellation or timeout that was acknowledged is lost only if all of these are true:
// - the keyspace lost its event: a Redis without `appendfsync always`, or an older snapshot;
// - no worker had stored it in the database;
// - no worker that still runs had read it.
// Then the order is unpaid and held again. A repetition of the payment pays it, and its deadline is
// still the old one. These tests show it: LostPaymentIsPaidByItsRepetition.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sale/stream/group_progress.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PaymentLossesTest : public PaidSaleTest {
 protected:
  bool is_held(OrderId order) { return is_order_held(backend_.client(), order); }
  /// Steps the worker until it has stored everything, also after a pause.
  void drain_for_good() {
    for (int i = 0; i < 4; ++i) {
      drain();
      backend_.advance_ms(WorkerOptions{}.pause_ms_max);
    }
    drain();
  }
  void expect_right() {
    drain();
    expect_audit_passes();
    EXPECT_TRUE(sale_->dead_letters()->empty());
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, PaymentLossesTest, each_backend(), backend_name);

/// Excludes memory: such a keyspace has no older state to return to.
class RolledBackPaymentsTest : public PaymentLossesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackPaymentsTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

// ---- Lost holds ----

/// The database still says "unpaid": that is not the last word on the order.
TEST_P(PaymentLossesTest, ChangeWithLostHoldWaitsForQueuedPayment) {
  const auto lose_holds = [&] { backend_.client()("DEL", SaleKeys{}.held()); };
  publish();
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);

  lose_holds();
  const ChangeResult used = sale_->use(order);
  EXPECT_EQ(used.outcome, ChangeOutcome::kOverloaded) << used.detail;
  lose_holds();
  const ChangeResult refunded = sale_->refund(order, "broken");
  EXPECT_EQ(refunded.outcome, ChangeOutcome::kOverloaded) << refunded.detail;

  drain();
  EXPECT_EQ(sale_->use(order).outcome, ChangeOutcome::kDone);
  EXPECT_EQ(states_of(order), "unpaid>paid>used");
  expect_right();
}

TEST_P(PaymentLossesTest, UseWithLostHoldOfUnpaidIsRefused) {
  publish();
  const OrderId order = bought(5);
  drain();
  backend_.client()("DEL", SaleKeys{}.held());
  const ChangeResult used = sale_->use(order);
  EXPECT_EQ(used.outcome, ChangeOutcome::kTooLate) << used.detail;
  EXPECT_EQ(used.status, OrderStatus::kUnpaid);
  EXPECT_TRUE(is_held(order));
  expect_right();
}

// ---- An older keyspace ----

TEST_P(RolledBackPaymentsTest, StoredPaymentStays) {
  publish(2);
  const OrderId order = bought(5);
  const OrderId unpaid = bought(6);
  drain();
  save();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();
  roll_back();

  EXPECT_EQ(buy(1, 7), Outcome::kSoldOut);
  EXPECT_FALSE(is_held(order));
  EXPECT_TRUE(is_held(unpaid));
  EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kTooLate);
  EXPECT_TRUE(pay(order, "p1").is_repeated);
  EXPECT_EQ(pay(order, "p2").outcome, ChangeOutcome::kTooLate);
  expect_right();
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 due"));
  EXPECT_EQ(states_of(order), "unpaid>paid");
}

TEST_P(RolledBackPaymentsTest, PaymentComesFirstAfterRollBack) {
  publish(2);
  const OrderId paid = bought(5);
  const OrderId unpaid = bought(6);
  drain();
  save();
  ASSERT_EQ(pay(paid, "p1").outcome, ChangeOutcome::kDone);
  drain();
  roll_back();

  EXPECT_EQ(pay(unpaid, "p2").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(pay(paid, "p3").outcome, ChangeOutcome::kTooLate);
  expect_right();
  EXPECT_EQ(free_stock(), 0);
}

TEST_P(RolledBackPaymentsTest, StoredCancellationStays) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  save();
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  drain();
  roll_back();

  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);
  EXPECT_TRUE(sale_->cancel(order, "no").is_repeated);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  EXPECT_FALSE(is_held(order));
  expect_right();
  EXPECT_EQ(states_of(order), "unpaid>cancelled");
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
}

TEST_P(RolledBackPaymentsTest, StoredTimeoutStays) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  save();
  backend_.advance_ms(kPaymentMs);
  drain();
  ASSERT_EQ(stored(order).status, OrderStatus::kCancelled);
  roll_back();

  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 7), Outcome::kSoldOut);
  expect_right();
  EXPECT_EQ(states_of(order), "unpaid>cancelled");
}

TEST_P(RolledBackPaymentsTest, StoredRefundStays) {
  publish(1);
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();
  save();
  ASSERT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  roll_back();

  EXPECT_EQ(buy(1, 5), Outcome::kAccepted) << "given back, although the keyspace lost that";
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  EXPECT_TRUE(sale_->refund(order, "broken").is_repeated);
  expect_right();
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
}

TEST_P(RolledBackPaymentsTest, SoldAgainStockIsNotOversold) {
  publish(1);
  const OrderId first = bought(5);
  drain();
  save();
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  const OrderId second = bought(6);
  ASSERT_EQ(pay(second, "p2").outcome, ChangeOutcome::kDone);
  drain();
  roll_back();

  EXPECT_EQ(pay(first, "p1").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(buy(1, 7), Outcome::kSoldOut);
  expect_right();
  EXPECT_EQ(stored(second).status, OrderStatus::kPaid);
  EXPECT_EQ(*backend_.orders().count_live(1), 1);
}

/// The order was stored and the payment was not: both stores know the order as unpaid.
TEST_P(RolledBackPaymentsTest, LostPaymentIsPaidByItsRepetition) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  save();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  roll_back();

  EXPECT_TRUE(is_held(order));
  const ChangeResult again = pay(order, "p1");
  EXPECT_EQ(again.outcome, ChangeOutcome::kDone) << again.detail;
  EXPECT_FALSE(again.is_repeated) << "neither store knew it";
  expect_right();
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
}

TEST_P(RolledBackPaymentsTest, LostCancellationHoldsAgain) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  save();
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  roll_back();

  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  EXPECT_TRUE(is_held(order));
  backend_.advance_ms(kPaymentMs);
  drain_for_good();
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(free_stock(), 1);
  expect_right();
}

// ---- Entries that a worker has read ----

TEST_P(PaymentLossesTest, HeldPaymentSurvivesFlush) {
  publish(10);
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy(1, 6), Outcome::kAccepted) << "a rebuild without the payment";
  });
  drain_for_good();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  expect_right();
}

TEST_P(PaymentLossesTest, HeldOrderAndPaymentSurviveFlush) {
  publish(10);
  const OrderId order = bought(5);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(pay(order, "p2").outcome, ChangeOutcome::kTooLate);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  });
  drain_for_good();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 due"));
  expect_right();
}

TEST_P(PaymentLossesTest, HeldCancellationSurvivesFlush) {
  publish(1);
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy(1, 6), Outcome::kSoldOut) << "a rebuild without the cancellation";
  });
  drain_for_good();

  EXPECT_EQ(states_of(order), "unpaid>cancelled");
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  expect_right();
}

TEST_P(PaymentLossesTest, HeldPaymentMeetsAnotherAfterFlush) {
  publish(10);
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(pay(order, "p2").outcome, ChangeOutcome::kDone) << "the keyspace lost the first";
  });
  drain_for_good();

  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  EXPECT_THAT(payments(), ElementsAre("p1 due", "p2 kept"));
  expect_right();
}

TEST_P(PaymentLossesTest, HeldPaymentsOfOneEntrySurviveFlush) {
  publish(10);
  const OrderId first = bought(5);
  const OrderId second = bought(6);
  drain();
  const StreamId entry = future_entry();
  set_last_entry(entry);
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  lose_entry_after_reading(entry);
  ASSERT_EQ(pay(second, "p2").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(worker_->step().changed, 0U) << "the epoch has ended";
  backend_.client()("FLUSHALL");
  drain_for_good();
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 kept"));
  expect_right();
}

TEST_P(PaymentLossesTest, FlushAloneKeepsHeldPayment) {
  publish(10);
  const OrderId order = bought(5);
  drain();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  before_next_write([&] { backend_.client()("FLUSHALL"); });
  drain_for_good();

  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  expect_right();
}

// ---- An emptied keyspace ----

TEST_P(PaymentLossesTest, FlushedKeyspaceHoldsUnpaidOrdersAgain) {
  publish(3);
  const OrderId paid = bought(1);
  const OrderId cancelled = bought(2);
  const OrderId unpaid = bought(3);
  pay(paid, "p1");
  sale_->cancel(cancelled, "no");
  drain();
  backend_.client()("FLUSHALL");

  EXPECT_EQ(pay(unpaid, "p3").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(pay(paid, "p4").outcome, ChangeOutcome::kTooLate);
  EXPECT_TRUE(sale_->cancel(cancelled, "no").is_repeated);
  EXPECT_EQ(free_stock(), 1);
  expect_right();
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
}

/// An entry in a keyspace without an owner would make the stream look like another system's.
TEST_P(PaymentLossesTest, SurplusPaymentComesFirstAfterFlush) {
  publish(1);
  const OrderId order = bought(5);
  sale_->cancel(order, "no");
  drain();
  backend_.client()("FLUSHALL");

  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);

  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  expect_right();
  EXPECT_THAT(payments(), ElementsAre("p1 due"));
}

TEST_P(PaymentLossesTest, FlushedKeyspaceTimesOutItsOrders) {
  publish(1);
  const OrderId order = bought(1);
  drain();
  backend_.client()("FLUSHALL");
  backend_.advance_ms(kPaymentMs);
  drain_for_good();

  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(free_stock(), 1);
  expect_right();
}

// ---- Refunds, step by step ----

class RefundStepsTest : public PaymentLossesTest {
 protected:
  OrderId paid_and_stored() {
    publish(1);
    const OrderId order = bought(5);
    EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
    drain();
    return order;
  }
  void expect_refunded_once(OrderId order) {
    const ChangeResult result = sale_->refund(order, "broken");
    EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
    backend_.orders().at_every_point({});
    EXPECT_EQ(free_stock(), 1);
    EXPECT_EQ(states_of(order), "unpaid>paid>refunding>refunded");
    EXPECT_THAT(payments(), ElementsAre("p1 due"));
    EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
    EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
    expect_right();
  }
  /// Returns the changes of a paid order that begin in the database, in their order.
  std::vector<std::function<ChangeResult()>> changes_from_paid(OrderId order) {
    return {[this, order] { return sale_->use(order); },
            [this, order] { return sale_->refund(order, "broken"); },
            [this] { return sale_->confirm_refund("p1"); }};
  }
  /// Expects that each of them was made once.
  void expect_confirmed(OrderId order) {
    EXPECT_EQ(states_of(order), "unpaid>paid>used>refunding>refunded");
    EXPECT_THAT(payments(), ElementsAre("p1 refunded"));
    EXPECT_EQ(free_stock(), 1);
    expect_right();
  }
  void lose_voucher() {
    const SaleKeys keys;
    backend_.client()("DEL", keys.voucher(1), keys.stock(1), keys.buyers(1), keys.refunds(1));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, RefundStepsTest, each_backend(), backend_name);

TEST_P(RefundStepsTest, RefundFailingAtEachWriteIsRepeatable) {
  const OrderId order = paid_and_stored();
  for (const int nth : {1, 2}) {
    backend_.orders().fail_write(nth);
    EXPECT_NE(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
    expect_audit_passes();
  }
  expect_refunded_once(order);
}

TEST_P(RefundStepsTest, RefundWithLostRepliesIsRepeatable) {
  using Kept = faults::FaultyOrderStore::Kept;
  const OrderId order = paid_and_stored();
  backend_.orders().fail_write(1, Kept::kYes);
  EXPECT_NE(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  expect_audit_passes();
  backend_.orders().fail_write(2, Kept::kYes);
  EXPECT_NE(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  expect_audit_passes();
  expect_refunded_once(order);
}

TEST_P(RefundStepsTest, HalfRefundIsFinishedByRestart) {
  const OrderId order = paid_and_stored();
  backend_.orders().fail_write(2);
  ASSERT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kOutcomeUnknown);
  restart();
  EXPECT_EQ(stored(order).status, OrderStatus::kRefunded);
  expect_refunded_once(order);
}

/// The database lost its connection while it committed.
TEST_P(RefundStepsTest, ChangeWithLostReplyMayBeDone) {
  const OrderId order = paid_and_stored();
  for (const auto& change : changes_from_paid(order)) {
    backend_.orders().fail_write(1, faults::FaultyOrderStore::Kept::kYes);
    EXPECT_EQ(change().outcome, ChangeOutcome::kOutcomeUnknown);
    const ChangeResult again = change();
    EXPECT_EQ(again.outcome, ChangeOutcome::kDone) << again.detail;
    EXPECT_TRUE(again.is_repeated);
  }
  expect_confirmed(order);
}

/// The database has each change, and it looks as if it had been caught up meanwhile, again and again.
TEST_P(RefundStepsTest, ChangeThatIsNotNotedMayBeDone) {
  const OrderId order = paid_and_stored();
  const std::string owner = SaleKeys{}.stream_owner();
  for (const auto& change : changes_from_paid(order)) {
    backend_.client()("HSET", owner, kCaughtUpField, 1'000'000'000);
    EXPECT_EQ(change().outcome, ChangeOutcome::kOutcomeUnknown);
    backend_.client()("HDEL", owner, kCaughtUpField);
    const ChangeResult again = change();
    EXPECT_EQ(again.outcome, ChangeOutcome::kDone) << again.detail;
    EXPECT_TRUE(again.is_repeated);
  }
  expect_confirmed(order);
}

/// The keyspace is told of a refund before anything is given back. Of the other changes, the database
/// alone decides.
TEST_P(RefundStepsTest, OnlyRefundNeedsItsNote) {
  using Point = faults::FaultyOrderStore::Point;
  const OrderId order = paid_and_stored();
  ChangeResult result;
  const auto without_note = [&](const std::function<ChangeResult()>& change) {
    backend_.orders().at_every_point([&](Point point) {
      if (point == Point::kAfterWrite) backend_.orders().fail_reads();
    });
    result = change();
    backend_.orders().at_every_point({});
    backend_.orders().fail_reads(absl::OkStatus());
    return result.outcome;
  };
  const auto changes = changes_from_paid(order);
  EXPECT_EQ(without_note(changes[0]), ChangeOutcome::kDone) << result.detail;
  EXPECT_EQ(without_note(changes[1]), ChangeOutcome::kOutcomeUnknown) << result.detail;
  EXPECT_EQ(stored(order).status, OrderStatus::kRefunding);
  EXPECT_EQ(free_stock(), 0);
  expect_audit_passes();
  EXPECT_TRUE(changes[1]().is_repeated);
  EXPECT_EQ(without_note(changes[2]), ChangeOutcome::kDone) << result.detail;
  expect_confirmed(order);
}

TEST_P(RefundStepsTest, HalfRefundSurvivesRebuild) {
  const OrderId order = paid_and_stored();
  backend_.orders().fail_write(2);
  ASSERT_NE(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  lose_voucher();
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut) << "a rebuild counts it as live";
  expect_audit_passes();
  expect_refunded_once(order);
}

/// The keyspace gave the pieces back. Before the database records that, a rebuild counts the order
/// as live.
TEST_P(RefundStepsTest, RebuildDuringRefundGivesBackOnce) {
  const OrderId order = paid_and_stored();
  before_write(2, [&] {
    lose_voucher();
    EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  });
  expect_refunded_once(order);
}

TEST_P(RefundStepsTest, FlushDuringRefundGivesBackOnce) {
  const OrderId order = paid_and_stored();
  before_write(2, [&] { backend_.client()("FLUSHALL"); });
  EXPECT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted) << "after a rebuild";
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  expect_right();
}

TEST_P(RefundStepsTest, FlushAndRebuildDuringRefundGivesBackOnce) {
  const OrderId order = paid_and_stored();
  before_write(2, [&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  });
  expect_refunded_once(order);
}

}  // namespace
}  // namespace rushgate
