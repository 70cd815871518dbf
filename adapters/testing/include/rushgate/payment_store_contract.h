// The contract of PaymentStore as a test suite, for order stores whose payments() is not null.
// Include this in one file of a test program, in place of order_store_contract.h, and instantiate
// both suites:
//
//   namespace rushgate::order_store_contract {
//   const Maker kMine{"Mine", make_mine, /*keeps_payments=*/true};
//   INSTANTIATE_TEST_SUITE_P(Mine, OrderStoreTest, ::testing::Values(kMine));
//   INSTANTIATE_TEST_SUITE_P(Mine, PaymentStoreTest, ::testing::Values(kMine));
//   }
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rushgate/order_store_contract.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// Prints a payment for GoogleTest.
inline void PrintTo(const Payment& payment, std::ostream* out) {
  *out << "payment " << payment.id << " (order " << payment.order << ", " << payment.amount_cents
       << " cents, " << payment_state_name(payment.state) << ", received at "
       << payment.received_at_ms << ", refunded at " << payment.refunded_at_ms << ", reason \""
       << payment.reason << "\")";
}

/// Prints a change for GoogleTest.
inline void PrintTo(const OrderChange& change, std::ostream* out) {
  *out << "change " << change.position << " (order " << change.order << ", "
       << order_status_name(change.from) << " -> " << order_status_name(change.to) << ", at "
       << change.at_ms << ", reason \"" << change.reason << "\", actor " << change.actor << ")";
}

namespace order_store_contract {

using EventKind = OrderEvent::Kind;

inline constexpr std::array kStatuses = {
    OrderStatus::kCreated,   OrderStatus::kUnpaid,    OrderStatus::kPaid,    OrderStatus::kUsed,
    OrderStatus::kRefunding, OrderStatus::kCancelled, OrderStatus::kRefunded};

/// A step of an order without its payments.
struct Transition {
  OrderStatus from;
  EventKind kind;
  OrderStatus to;
};
inline constexpr std::array kTransitions = {
    Transition{OrderStatus::kUnpaid, EventKind::kCancelled, OrderStatus::kCancelled},
    Transition{OrderStatus::kCreated, EventKind::kUsed, OrderStatus::kUsed},
    Transition{OrderStatus::kPaid, EventKind::kUsed, OrderStatus::kUsed},
    Transition{OrderStatus::kCreated, EventKind::kRefundBegun, OrderStatus::kRefunding},
    Transition{OrderStatus::kPaid, EventKind::kRefundBegun, OrderStatus::kRefunding},
    Transition{OrderStatus::kUsed, EventKind::kRefundBegun, OrderStatus::kRefunding},
    Transition{OrderStatus::kRefunding, EventKind::kRefundEnded, OrderStatus::kRefunded}};

/// Returns the state to which an event leads from `status`; empty if it is refused. An event that
/// was applied before leads to the same state.
inline std::optional<OrderStatus> status_after(OrderStatus status, EventKind kind) {
  for (const Transition& transition : kTransitions) {
    if (transition.kind != kind) continue;
    if (transition.from == status) return transition.to;
    if (transition.to == status) return status;
  }
  const bool is_beyond = kind == EventKind::kRefundBegun && status == OrderStatus::kRefunded;
  return is_beyond ? std::optional(status) : std::nullopt;
}

inline PaymentFilter payments_of(std::optional<OrderId> order,
                                 std::optional<Payment::State> state = {}) {
  PaymentFilter filter;
  filter.order = order;
  filter.state = state;
  return filter;
}

/// Everything that an order store with payments keeps, as it returns it.
struct Contents {
  std::vector<Order> orders = {};
  std::vector<Payment> payments = {};
  std::vector<OrderChange> changes = {};
  std::map<VoucherId, std::int64_t> taken = {};
};

class PaymentStoreTest : public OrderStoreTest {
 protected:
  using State = Payment::State;

  void SetUp() override { ASSERT_NE(store().payments(), nullptr); }

  PaymentStore& payments() { return *store().payments(); }

  /// An order in a state, as write() may store it.
  Order order_in(OrderStatus status, std::int64_t user = 1, std::int64_t limit = 0) {
    Order order = pieces(user, 1, limit);
    order.status = status;
    return order;
  }
  Order written(OrderStatus status) {
    const Order order = order_in(status);
    EXPECT_EQ(write_one(order), Kind::kStored);
    return order;
  }

  OrderEvent event(EventKind kind, OrderId order) {
    OrderEvent event{
        .kind = kind, .at_ms = next_ms(), .reason = "no \xc3\xa4 'x'", .actor = "user"};
    event.order.id = order;
    return event;
  }
  OrderEvent payment(const std::string& id, OrderId order, std::int64_t amount_cents = 250,
                     EventKind kind = EventKind::kPaid) {
    OrderEvent paid = event(kind, order);
    paid.payment.id = id;
    paid.payment.amount_cents = amount_cents;
    return paid;
  }
  OrderEvent refund_of_payment(const std::string& id) {
    return payment(id, 0, 0, EventKind::kPaymentRefunded);
  }
  OrderEvent admitted(const Order& order) {
    return {.kind = EventKind::kAdmitted, .order = order, .at_ms = next_ms()};
  }

  std::vector<OrderResult> apply(const std::vector<OrderEvent>& events) {
    return checked(apply_now(store(), events), events.size());
  }
  std::vector<Kind> apply_kinds(const std::vector<OrderEvent>& events) {
    return kinds_of(apply(events));
  }
  Kind apply_one(const OrderEvent& event) { return apply_kinds({event}).at(0); }
  void expect_stored(const std::vector<OrderEvent>& events) {
    EXPECT_EQ(apply_kinds(events), std::vector(events.size(), Kind::kStored));
  }
  void expect_contents(const Contents& expected) {
    const Contents now = contents();
    EXPECT_EQ(now.orders, expected.orders);
    EXPECT_EQ(now.payments, expected.payments);
    EXPECT_EQ(now.changes, expected.changes);
    EXPECT_EQ(now.taken, expected.taken);
  }
  /// Expects that an event gets this result and changes nothing.
  OrderResult expect_unchanged(const OrderEvent& event, Kind kind) {
    const Contents before = contents();
    OrderResult result = apply({event}).at(0);
    EXPECT_EQ(result.kind, kind) << order_event_name(event.kind) << ": " << result.reason;
    expect_contents(before);
    return result;
  }

  OrderStatus status_of(OrderId order) { return store().find(order).value()->status; }
  Payment payment_of(const std::string& id) { return payments().find_payment(id).value().value(); }
  std::vector<OrderChange> changes(std::int64_t after = 0, std::optional<OrderId> order = {},
                                   std::size_t count_max = 10'000) {
    return payments().changes(after, count_max, order).value();
  }
  std::vector<std::string> list_ids(const PaymentFilter& filter) {
    const std::vector<Payment> found = payments().list_payments(filter).value();
    std::vector<std::string> ids;
    ids.reserve(found.size());
    for (const Payment& payment : found) ids.push_back(payment.id);
    return ids;
  }

  Contents contents() {
    Contents contents{.orders = store().list(at_most(10'000)).value(), .changes = changes()};
    PaymentFilter all;
    all.count_max = 10'000;
    contents.payments = payments().list_payments(all).value();
    const std::vector<VoucherId> vouchers = store().vouchers_with_orders().value();
    for (const VoucherId voucher : vouchers) {
      contents.taken[voucher] = store().count_live(voucher).value();
    }
    return contents;
  }

 private:
  std::int64_t next_ms() { return ++now_ms_; }

  std::int64_t now_ms_ = 1'700'001'000'000;
};

// ---- Orders as events -------------------------------------------------------------------------

TEST_P(PaymentStoreTest, AdmittedOrdersAreStoredLikeWrites) {
  const Order first = pieces(1, 2, 3);
  Order other = pieces(2, 1, 3);
  other.id = first.id;
  const auto results =
      apply({admitted(first), admitted(first), admitted(pieces(1, 2, 3)), admitted(other)});
  EXPECT_EQ(kinds_of(results),
            (std::vector{Kind::kStored, Kind::kAlreadyStored, Kind::kRefused, Kind::kRefused}));
  EXPECT_EQ(results.at(2).reason, "user 1 has 2 pieces of voucher 7 already, of a limit of 3");
  EXPECT_EQ(store().list({}).value(), std::vector{first});
  EXPECT_EQ(store().count_live(kVoucher).value(), 2);
  EXPECT_EQ(write_one(first), Kind::kAlreadyStored);
  EXPECT_TRUE(changes().empty()) << "a first state is no change";
}

TEST_P(PaymentStoreTest, EventsAndWritesMayAlternate) {
  Order first = order(1);
  first.status = OrderStatus::kUnpaid;
  EXPECT_EQ(write_one(first), Kind::kStored);
  EXPECT_EQ(write_one(order(1)), Kind::kRefused);
  expect_stored({event(EventKind::kCancelled, first.id)});
  EXPECT_EQ(write_kinds({order(1), order(1)}), (std::vector{Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(PaymentStoreTest, EmptyBatchIsApplied) { EXPECT_TRUE(apply({}).empty()); }

// ---- The states of an order -------------------------------------------------------------------

TEST_P(PaymentStoreTest, TransitionIsRecordedOnce) {
  for (const Transition& transition : kTransitions) {
    SCOPED_TRACE(order_event_name(transition.kind));
    Order order = written(transition.from);
    const std::size_t changes_before = changes().size();
    const OrderEvent step = event(transition.kind, order.id);
    expect_stored({step});
    order.status = transition.to;
    EXPECT_EQ(store().find(order.id).value(), order);
    const std::vector<OrderChange> recorded = changes();
    ASSERT_EQ(recorded.size(), changes_before + 1);
    EXPECT_EQ(recorded.back(), (OrderChange{.position = recorded.back().position,
                                            .order = order.id,
                                            .from = transition.from,
                                            .to = transition.to,
                                            .at_ms = step.at_ms,
                                            .reason = step.reason,
                                            .actor = step.actor}));
    expect_unchanged(step, Kind::kAlreadyStored);
  }
}

TEST_P(PaymentStoreTest, OtherTransitionsAreRefused) {
  for (const OrderStatus status : kStatuses) {
    for (const EventKind kind : {EventKind::kCancelled, EventKind::kUsed, EventKind::kRefundBegun,
                                 EventKind::kRefundEnded}) {
      const std::optional<OrderStatus> after = status_after(status, kind);
      if (after.has_value() && after != status) continue;  // above
      const Order order = written(status);
      const OrderResult result =
          expect_unchanged(event(kind, order.id), after ? Kind::kAlreadyStored : Kind::kRefused);
      if (after.has_value()) continue;
      EXPECT_EQ(result.reason, "order " + std::to_string(order.id) + " is " +
                                   std::string(order_status_name(status)) + ": " +
                                   std::string(order_event_name(kind)) + " is not possible");
    }
  }
}

TEST_P(PaymentStoreTest, UnknownOrderIsTooEarly) {
  for (const EventKind kind :
       {EventKind::kPaid, EventKind::kSurplusPayment, EventKind::kCancelled, EventKind::kUsed,
        EventKind::kRefundBegun, EventKind::kRefundEnded}) {
    const Order late = order_in(OrderStatus::kUnpaid);
    const OrderEvent early = payment("early", late.id, 250, kind);
    expect_unchanged(early, Kind::kTooEarly);
    EXPECT_EQ(payments().find_payment("early").value(), std::nullopt);
  }
  const Order late = order_in(OrderStatus::kUnpaid);
  const OrderEvent paid = payment("early", late.id);
  EXPECT_EQ(apply_kinds({paid, admitted(late), paid}),
            (std::vector{Kind::kTooEarly, Kind::kStored, Kind::kStored}));
  EXPECT_EQ(status_of(late.id), OrderStatus::kPaid);
}

TEST_P(PaymentStoreTest, EndedOrderKeepsAsEventSays) {
  const Transition ends[] = {
      {OrderStatus::kUnpaid, EventKind::kCancelled, OrderStatus::kCancelled},
      {OrderStatus::kRefunding, EventKind::kRefundEnded, OrderStatus::kRefunded}};
  std::int64_t taken = 0;
  for (const Transition& end : ends) {
    for (const bool keeps_stock : {false, true}) {
      for (const bool keeps_allowance : {false, true}) {
        Order order = pieces(1, 3, 0);
        order.status = end.from;
        EXPECT_EQ(write_one(order), Kind::kStored);
        EXPECT_EQ(store().count_live(kVoucher).value(), taken + 3);
        OrderEvent ended = event(end.kind, order.id);
        ended.order.keeps_stock = keeps_stock;
        ended.order.keeps_allowance = keeps_allowance;
        expect_stored({ended});
        order.status = end.to;
        order.keeps_stock = keeps_stock;
        order.keeps_allowance = keeps_allowance;
        EXPECT_EQ(store().find(order.id).value(), order);
        if (keeps_stock) taken += 3;
        EXPECT_EQ(store().count_live(kVoucher).value(), taken);
      }
    }
  }
}

TEST_P(PaymentStoreTest, OnlyEndsChangeKeptPieces) {
  const Order order = written(OrderStatus::kPaid);
  for (const EventKind kind : {EventKind::kUsed, EventKind::kRefundBegun}) {
    OrderEvent step = event(kind, order.id);
    step.order.keeps_stock = true;
    step.order.keeps_allowance = true;
    step.order.quantity = 9;
    expect_stored({step});
    Order expected = order;
    expected.status = status_of(order.id);
    EXPECT_EQ(store().find(order.id).value(), expected);
  }
}

// ---- Payments ---------------------------------------------------------------------------------

TEST_P(PaymentStoreTest, PaymentPaysUnpaidOrderOnce) {
  const Order order = written(OrderStatus::kUnpaid);
  const OrderEvent paid = payment("p-1", order.id, 250);
  expect_stored({paid});
  EXPECT_EQ(status_of(order.id), OrderStatus::kPaid);
  EXPECT_EQ(payment_of("p-1"), (Payment{.id = "p-1",
                                        .order = order.id,
                                        .amount_cents = 250,
                                        .state = State::kKept,
                                        .received_at_ms = paid.at_ms}));
  EXPECT_EQ(changes().back().to, OrderStatus::kPaid);
  OrderEvent again = paid;
  ++again.at_ms;
  expect_unchanged(again, Kind::kAlreadyStored);
  expect_stored({event(EventKind::kUsed, order.id)});
  expect_unchanged(again, Kind::kAlreadyStored);
}

TEST_P(PaymentStoreTest, LatePaymentBecomesDue) {
  for (const OrderStatus status : kStatuses) {
    if (status == OrderStatus::kUnpaid) continue;
    const std::string name(order_status_name(status));
    const Order order = written(status);
    const OrderEvent paid = payment("late-" + name, order.id);
    const std::vector<OrderChange> before = changes();
    expect_stored({paid});
    EXPECT_EQ(store().find(order.id).value(), order);
    EXPECT_EQ(changes(), before);
    EXPECT_EQ(payment_of(paid.payment.id), (Payment{.id = paid.payment.id,
                                                    .order = order.id,
                                                    .amount_cents = 250,
                                                    .state = State::kDue,
                                                    .received_at_ms = paid.at_ms,
                                                    .reason = "the order was " + name}));
    expect_unchanged(paid, Kind::kAlreadyStored);
  }
}

TEST_P(PaymentStoreTest, SurplusPaymentBecomesDue) {
  for (const OrderStatus status : kStatuses) {
    const Order order = written(status);
    const OrderEvent surplus = payment("surplus-" + std::string(order_status_name(status)),
                                       order.id, 1, EventKind::kSurplusPayment);
    expect_stored({surplus});
    EXPECT_EQ(status_of(order.id), status);
    EXPECT_EQ(payment_of(surplus.payment.id).state, State::kDue);
    EXPECT_EQ(payment_of(surplus.payment.id).reason, surplus.reason);
    expect_unchanged(surplus, Kind::kAlreadyStored);
  }
  EXPECT_TRUE(changes().empty());
}

TEST_P(PaymentStoreTest, SecondPaymentBecomesDue) {
  const Order order = written(OrderStatus::kUnpaid);
  expect_stored({payment("first", order.id), payment("second", order.id)});
  EXPECT_EQ(payment_of("first").state, State::kKept);
  EXPECT_EQ(payment_of("second").state, State::kDue);
  EXPECT_EQ(payment_of("second").reason, "the order was paid");
}

TEST_P(PaymentStoreTest, PaymentOfAnotherOrderIsRefused) {
  const Order first = written(OrderStatus::kUnpaid);
  const Order second = written(OrderStatus::kUnpaid);
  expect_stored({payment("p", first.id, 250)});
  const std::string reason = "payment p of 250 cents belongs to order " + std::to_string(first.id);
  for (const EventKind kind : {EventKind::kPaid, EventKind::kSurplusPayment}) {
    EXPECT_EQ(expect_unchanged(payment("p", second.id, 250, kind), Kind::kRefused).reason, reason);
    EXPECT_EQ(expect_unchanged(payment("p", first.id, 251, kind), Kind::kRefused).reason, reason);
  }
}

TEST_P(PaymentStoreTest, PaymentIdsAreBytes) {
  const Order order = written(OrderStatus::kPaid);
  const std::vector<std::string> ids = {std::string("\0", 1),
                                        std::string("a\0b", 3),
                                        "A",
                                        "a",
                                        "a'\"%",
                                        "a ",
                                        "\xff",
                                        "\xc3\xa4",
                                        std::string(Payment::kIdBytesMax, 'z')};
  for (const std::string& id : ids) {
    expect_stored({payment(id, order.id, 250, EventKind::kSurplusPayment)});
  }
  reopen_if_possible();
  for (const std::string& id : ids) EXPECT_EQ(payment_of(id).id, id);
  std::vector<std::string> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(list_ids(PaymentFilter()), sorted);
  EXPECT_EQ(list_ids(payments_of(order.id)), sorted);
}

TEST_P(PaymentStoreTest, GreatestNumbersOfPaymentAreKept) {
  Order order = pieces(1, 1, 0);
  order.id = kMax;
  OrderEvent paid = payment("p", kMax, kMax);
  paid.at_ms = kMax;
  expect_stored({admitted(order), paid});
  EXPECT_EQ(payment_of("p"), (Payment{.id = "p",
                                      .order = kMax,
                                      .amount_cents = kMax,
                                      .state = State::kKept,
                                      .received_at_ms = kMax}));
}

// ---- Refunds ----------------------------------------------------------------------------------

TEST_P(PaymentStoreTest, BegunRefundMakesPaymentsDue) {
  const Order order = written(OrderStatus::kUnpaid);
  const Order other = written(OrderStatus::kUnpaid);
  expect_stored({payment("a", order.id), payment("b", order.id), payment("c", order.id),
                 refund_of_payment("c"), payment("d", other.id)});
  const Payment due_before = payment_of("b");
  const Payment refunded = payment_of("c");
  const OrderEvent begun = event(EventKind::kRefundBegun, order.id);
  expect_stored({begun});
  EXPECT_EQ(payment_of("a").state, State::kDue);
  EXPECT_EQ(payment_of("a").reason, begun.reason);
  EXPECT_EQ(payment_of("b"), due_before);
  EXPECT_EQ(payment_of("c"), refunded);
  EXPECT_EQ(payment_of("d").state, State::kKept) << "of another order";
}

TEST_P(PaymentStoreTest, DuePaymentIsRefundedOnce) {
  const Order order = written(OrderStatus::kCancelled);
  expect_stored({payment("p", order.id)});
  Payment expected = payment_of("p");
  const std::vector<OrderChange> before = changes();
  const OrderEvent refund = refund_of_payment("p");
  expect_stored({refund});
  expected.state = State::kRefunded;
  expected.refunded_at_ms = refund.at_ms;
  EXPECT_EQ(payment_of("p"), expected) << "its reason stays";
  EXPECT_EQ(changes(), before);
  EXPECT_EQ(status_of(order.id), OrderStatus::kCancelled);
  OrderEvent again = refund;
  ++again.at_ms;
  expect_unchanged(again, Kind::kAlreadyStored);
  expect_unchanged(payment("p", order.id), Kind::kAlreadyStored);
}

TEST_P(PaymentStoreTest, RefundOfKeptPaymentIsRefused) {
  const Order order = written(OrderStatus::kUnpaid);
  expect_stored({payment("p", order.id)});
  EXPECT_EQ(expect_unchanged(refund_of_payment("p"), Kind::kRefused).reason,
            "payment p is not due: refund its order first");
  EXPECT_EQ(expect_unchanged(refund_of_payment("q"), Kind::kRefused).reason,
            "there is no payment q");
}

// ---- Batches ----------------------------------------------------------------------------------

TEST_P(PaymentStoreTest, EventsSeeEarlierOnesOfBatch) {
  const Order order = order_in(OrderStatus::kUnpaid);
  const std::vector<OrderEvent> events = {admitted(order),
                                          payment("p", order.id),
                                          payment("q", order.id),
                                          event(EventKind::kUsed, order.id),
                                          event(EventKind::kRefundBegun, order.id),
                                          refund_of_payment("p"),
                                          refund_of_payment("q"),
                                          event(EventKind::kRefundEnded, order.id)};
  expect_stored(events);
  EXPECT_EQ(status_of(order.id), OrderStatus::kRefunded);
  EXPECT_EQ(store().count_live(kVoucher).value(), 0);
  EXPECT_EQ(list_ids(payments_of(kAny, State::kRefunded)), (std::vector<std::string>{"p", "q"}));
  std::vector<OrderStatus> states;
  for (const OrderChange& change : changes()) states.push_back(change.to);
  EXPECT_EQ(states, (std::vector{OrderStatus::kPaid, OrderStatus::kUsed, OrderStatus::kRefunding,
                                 OrderStatus::kRefunded}));
}

TEST_P(PaymentStoreTest, CancelFreesLimitWithinBatch) {
  for (const std::int64_t limit : {1, 3}) {
    Order first = order_in(OrderStatus::kUnpaid, 10 + limit, limit);
    first.quantity = limit;
    Order second = first;
    second.id = first.id + 500;
    second.entry.seq = 99;
    second.idempotency_key = first.idempotency_key + " again";
    EXPECT_EQ(apply_kinds({admitted(first), admitted(second),
                           event(EventKind::kCancelled, first.id), admitted(second)}),
              (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored, Kind::kStored}));
    EXPECT_EQ(status_of(second.id), OrderStatus::kUnpaid);
  }
  EXPECT_EQ(store().count_live(kVoucher).value(), 4);
}

TEST_P(PaymentStoreTest, CancelFreesStockWithinBatch) {
  const BatchFence fence = fence_now({{kVoucher, 2}});
  const Order keeps = order_in(OrderStatus::kUnpaid, 1);
  const Order gives = order_in(OrderStatus::kUnpaid, 2);
  OrderEvent kept = event(EventKind::kCancelled, keeps.id);
  kept.order.keeps_stock = true;
  const std::vector<OrderEvent> events = {admitted(keeps),
                                          admitted(gives),
                                          kept,
                                          admitted(order_in(OrderStatus::kUnpaid, 3)),
                                          event(EventKind::kCancelled, gives.id),
                                          admitted(order_in(OrderStatus::kUnpaid, 4)),
                                          admitted(order_in(OrderStatus::kUnpaid, 5))};
  EXPECT_EQ(kinds_of(checked(payments().apply(events, fence), events.size())),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kStored, Kind::kRefused, Kind::kStored,
                         Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 2);
}

/// The keyspace gives the pieces back before the database records the end of the refund. So nothing
/// is final before that.
TEST_P(PaymentStoreTest, OrderLackingOnlyRefundingStockIsTooEarly) {
  const BatchFence fence = fence_now({{kVoucher, 2}});
  const auto kinds = [&](const std::vector<OrderEvent>& events) {
    return kinds_of(checked(payments().apply(events, fence), events.size()));
  };
  const Order refunded = order_in(OrderStatus::kPaid, 1);
  const Order other = order_in(OrderStatus::kPaid, 2);
  const OrderEvent next = admitted(order_in(OrderStatus::kUnpaid, 3));
  Order large = order_in(OrderStatus::kUnpaid, 4);
  large.quantity = 2;
  EXPECT_EQ(kinds({admitted(refunded), admitted(other), next}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));

  EXPECT_EQ(kinds({event(EventKind::kRefundBegun, refunded.id), next, admitted(large)}),
            (std::vector{Kind::kStored, Kind::kTooEarly, Kind::kRefused}));
  EXPECT_EQ(kinds({event(EventKind::kRefundEnded, refunded.id), next, admitted(large)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));
}

TEST_P(PaymentStoreTest, OrderLackingOnlyRefundingAllowanceIsTooEarly) {
  for (const std::int64_t limit : {1, 3}) {
    Order refunded = order_in(OrderStatus::kPaid, 10 + limit, limit);
    refunded.quantity = limit;
    Order next = order_in(OrderStatus::kUnpaid, 10 + limit, limit);
    EXPECT_EQ(apply_kinds({admitted(refunded), admitted(next),
                           event(EventKind::kRefundBegun, refunded.id), admitted(next),
                           event(EventKind::kRefundEnded, refunded.id), admitted(next)}),
              (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored, Kind::kTooEarly,
                           Kind::kStored, Kind::kStored}));
  }
}

TEST_P(PaymentStoreTest, OrderCancelledWhileQueuedHasChange) {
  OrderEvent event = admitted(order_in(OrderStatus::kCancelled));
  event.reason = "no";
  event.actor = "user";
  EXPECT_EQ(apply_kinds({event, event}), (std::vector{Kind::kStored, Kind::kAlreadyStored}));
  const std::vector<OrderChange> found = changes(0, event.order.id);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], (OrderChange{.position = found[0].position,
                                   .order = event.order.id,
                                   .from = OrderStatus::kUnpaid,
                                   .to = OrderStatus::kCancelled,
                                   .at_ms = event.at_ms,
                                   .reason = "no",
                                   .actor = "user"}));
}

TEST_P(PaymentStoreTest, OneRefusalDoesNotAffectEvents) {
  const Order first = written(OrderStatus::kUnpaid);
  const Order second = written(OrderStatus::kUnpaid);
  EXPECT_EQ(apply_kinds({payment("p", first.id), event(EventKind::kCancelled, first.id),
                         event(EventKind::kUsed, 1), payment("q", second.id)}),
            (std::vector{Kind::kStored, Kind::kRefused, Kind::kTooEarly, Kind::kStored}));
  EXPECT_EQ(status_of(first.id), OrderStatus::kPaid);
  EXPECT_EQ(status_of(second.id), OrderStatus::kPaid);
}

TEST_P(PaymentStoreTest, OldEpochEventsChangeNothing) {
  const Order order = written(OrderStatus::kUnpaid);
  BatchFence fence = fence_now({{kVoucher, 5}});
  const std::int64_t checkpoint = fence.checkpoint;
  ASSERT_TRUE(store().fence().ok());
  fence.checkpoint = 99;
  const std::vector<OrderEvent> events = {payment("p", order.id),
                                          admitted(order_in(OrderStatus::kUnpaid))};
  const Contents before = contents();
  const absl::Status refused = payments().apply(events, fence).status();
  EXPECT_TRUE(absl::IsAborted(refused)) << refused;
  expect_contents(before);
  EXPECT_EQ(store().state()->checkpoint, checkpoint);
  expect_stored(events);
}

TEST_P(PaymentStoreTest, CheckpointCommitsWithEvents) {
  const Order order = written(OrderStatus::kUnpaid);
  BatchFence fence = fence_now({});
  fence.checkpoint = 7;
  const OrderEvent paid = payment("p", order.id);
  ASSERT_TRUE(payments().apply(std::span(&paid, 1), fence).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
  fence.checkpoint = 3;
  ASSERT_TRUE(payments().apply({}, fence).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
}

TEST_P(PaymentStoreTest, EverythingIsThereAfterReopening) {
  const Order paid = written(OrderStatus::kUnpaid);
  const Order ended = written(OrderStatus::kUnpaid);
  OrderEvent cancel = event(EventKind::kCancelled, ended.id);
  cancel.order.keeps_stock = true;
  expect_stored({payment("p", paid.id), cancel, payment("q", ended.id), refund_of_payment("q")});
  const Contents before = contents();
  reopen_if_possible();
  expect_contents(before);
  expect_unchanged(payment("p", paid.id), Kind::kAlreadyStored);
  expect_unchanged(cancel, Kind::kAlreadyStored);
  const std::int64_t last = before.changes.back().position;
  expect_stored({event(EventKind::kUsed, paid.id)});
  EXPECT_GT(changes().back().position, last);
}

// ---- Lists ------------------------------------------------------------------------------------

TEST_P(PaymentStoreTest, AllPaymentListConditionsMustHold) {
  const Order first = written(OrderStatus::kUnpaid);
  const Order second = written(OrderStatus::kUnpaid);
  expect_stored({payment("d", first.id), payment("a", first.id), payment("c", second.id),
                 payment("b", second.id), payment("e", first.id), refund_of_payment("e")});
  const auto expect = [&](std::optional<OrderId> order, std::optional<State> state,
                          const std::vector<std::string>& ids) {
    PaymentFilter filter = payments_of(order, state);
    EXPECT_EQ(list_ids(filter), ids);
    filter.count_max = 1;
    std::vector<std::string> paged;
    EXPECT_TRUE(for_each_payment(payments(), filter, [&](const Payment& payment) {
                  paged.push_back(payment.id);
                }).ok());
    EXPECT_EQ(paged, ids);
  };
  expect(kAny, kAny, {"a", "b", "c", "d", "e"});
  expect(first.id, kAny, {"a", "d", "e"});
  expect(kAny, State::kDue, {"a", "b"});
  expect(kAny, State::kKept, {"c", "d"});
  expect(first.id, State::kDue, {"a"});
  expect(second.id, State::kRefunded, {});
  expect(1, kAny, {});
}

TEST_P(PaymentStoreTest, ListOfNoPaymentsIsEmpty) {
  const Order order = written(OrderStatus::kUnpaid);
  expect_stored({payment("p", order.id)});
  PaymentFilter filter;
  filter.count_max = 0;
  EXPECT_TRUE(list_ids(filter).empty());
  filter.count_max = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(list_ids(filter).size(), 1U);
  filter.after = "p";
  EXPECT_TRUE(list_ids(filter).empty());
  filter.after = "o\xff";
  EXPECT_EQ(list_ids(filter).size(), 1U);
}

TEST_P(PaymentStoreTest, ChangesAreReadFromPositions) {
  const Order first = written(OrderStatus::kUnpaid);
  const Order second = written(OrderStatus::kUnpaid);
  expect_stored({payment("p", first.id), event(EventKind::kCancelled, second.id),
                 event(EventKind::kUsed, first.id)});
  expect_stored({event(EventKind::kRefundBegun, first.id)});
  const std::vector<OrderChange> all = changes();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_GE(all[0].position, 1);
  std::vector<OrderChange> resumed;
  for (std::int64_t after = 0;;) {
    const std::vector<OrderChange> portion = changes(after, {}, 1);
    if (portion.empty()) break;
    ASSERT_EQ(portion.size(), 1U);
    EXPECT_GT(portion[0].position, after);
    after = portion[0].position;
    resumed.push_back(portion[0]);
  }
  EXPECT_EQ(resumed, all);
  EXPECT_EQ(changes(0, first.id), (std::vector{all[0], all[2], all[3]}));
  EXPECT_EQ(changes(all[0].position, first.id, 1), std::vector{all[2]});
  EXPECT_EQ(changes(0, second.id), std::vector{all[1]});
  EXPECT_EQ(changes(-1), all);
  EXPECT_TRUE(changes(0, {}, 0).empty());
  EXPECT_TRUE(changes(0, second.id + 1).empty());
  EXPECT_TRUE(changes(kMax).empty());
  EXPECT_EQ(changes(0, {}, std::numeric_limits<std::size_t>::max()), all);
}

// ---- Threads ----------------------------------------------------------------------------------

TEST_P(PaymentStoreTest, ThreadsMayApplyAndRead) {
  constexpr int kOrders = 100;
  std::vector<std::vector<Order>> orders(4);
  for (std::vector<Order>& own : orders) {
    for (int i = 0; i < kOrders; ++i) own.push_back(order_in(OrderStatus::kUnpaid));
  }
  std::vector<std::vector<OrderEvent>> events(orders.size());
  for (std::size_t thread = 0; thread < orders.size(); ++thread) {
    for (const Order& order : orders[thread]) {
      events[thread].push_back(admitted(order));
      events[thread].push_back(payment("p" + std::to_string(order.id), order.id));
    }
  }
  write({order(0)});  // publishes the voucher
  std::vector<std::thread> threads;
  for (const std::vector<OrderEvent>& own : events) {
    threads.emplace_back([this, &own] {
      for (std::size_t at = 0; at < own.size(); at += 20) {
        EXPECT_TRUE(apply_now(store(), std::span(own).subspan(at, 20)).ok());
        EXPECT_EQ(payment_of(own[at + 1].payment.id).state, State::kKept);
        EXPECT_EQ(changes(0, own[at].order.id).size(), 1U);
        EXPECT_TRUE(payments().list_payments(PaymentFilter()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<OrderChange> recorded = changes();
  ASSERT_EQ(recorded.size(), orders.size() * kOrders);
  for (std::size_t i = 1; i < recorded.size(); ++i) {
    EXPECT_LT(recorded[i - 1].position, recorded[i].position);
  }
}

// ---- Compared with a model ----

/// The simplest order store with payments.
class EventModel : public Model {
 public:
  OrderResult::Kind apply(const OrderEvent& event) {
    if (event.kind == EventKind::kAdmitted) return admit(event);
    if (event.kind == EventKind::kPaymentRefunded) return refund_payment(event);
    const auto order = std::find_if(orders_.begin(), orders_.end(),
                                    [&](const Order& other) { return other.id == event.order.id; });
    if (order == orders_.end()) return OrderResult::Kind::kTooEarly;
    const bool is_payment =
        event.kind == EventKind::kPaid || event.kind == EventKind::kSurplusPayment;
    return is_payment ? receive(event, *order) : step(event, *order);
  }

  [[nodiscard]] std::vector<Payment> list(const PaymentFilter& filter) const {
    std::vector<Payment> found;
    for (const auto& [id, payment] : payments_) {
      if (found.size() < filter.count_max && id > filter.after &&
          filter.order.value_or(payment.order) == payment.order &&
          filter.state.value_or(payment.state) == payment.state) {
        found.push_back(payment);
      }
    }
    return found;
  }
  using Model::list;

  [[nodiscard]] const std::vector<OrderChange>& changes() const { return changes_; }

 private:
  using Kind = OrderResult::Kind;
  using State = Payment::State;

  Kind admit(const OrderEvent& event) {
    const Kind stored = store(event.order);
    if (stored != Kind::kStored || event.order.status != OrderStatus::kCancelled) return stored;
    changes_.push_back({.order = event.order.id,
                        .from = OrderStatus::kUnpaid,
                        .to = OrderStatus::kCancelled,
                        .at_ms = event.at_ms,
                        .reason = event.reason,
                        .actor = event.actor});
    return stored;
  }

  Kind receive(const OrderEvent& event, Order& order) {
    const auto known = payments_.find(event.payment.id);
    if (known != payments_.end()) {
      const bool same = known->second.order == order.id &&
                        known->second.amount_cents == event.payment.amount_cents;
      return same ? Kind::kAlreadyStored : Kind::kRefused;
    }
    Payment payment = event.payment;
    payment.order = order.id;
    payment.received_at_ms = event.at_ms;
    const bool pays = event.kind == EventKind::kPaid && order.status == OrderStatus::kUnpaid;
    payment.state = pays ? State::kKept : State::kDue;
    if (event.kind == EventKind::kSurplusPayment) {
      payment.reason = event.reason;
    } else if (!pays) {
      payment.reason = "the order was " + std::string(order_status_name(order.status));
    }
    payments_[payment.id] = payment;
    if (pays) change(event, order, OrderStatus::kPaid);
    return Kind::kStored;
  }

  Kind step(const OrderEvent& event, Order& order) {
    const std::optional<OrderStatus> after = status_after(order.status, event.kind);
    if (!after) return Kind::kRefused;
    if (*after == order.status) return Kind::kAlreadyStored;
    if (event.kind == EventKind::kRefundBegun) {
      for (auto& [id, payment] : payments_) {
        if (payment.order != order.id || payment.state != State::kKept) continue;
        payment.state = State::kDue;
        payment.reason = event.reason;
      }
    }
    if (event.kind == EventKind::kCancelled || event.kind == EventKind::kRefundEnded) {
      order.keeps_stock = event.order.keeps_stock;
      order.keeps_allowance = event.order.keeps_allowance;
    }
    change(event, order, *after);
    return Kind::kStored;
  }

  Kind refund_payment(const OrderEvent& event) {
    const auto known = payments_.find(event.payment.id);
    if (known == payments_.end() || known->second.state == State::kKept) return Kind::kRefused;
    if (known->second.state == State::kRefunded) return Kind::kAlreadyStored;
    known->second.state = State::kRefunded;
    known->second.refunded_at_ms = event.at_ms;
    return Kind::kStored;
  }

  void change(const OrderEvent& event, Order& order, OrderStatus status) {
    changes_.push_back({.order = order.id,
                        .from = order.status,
                        .to = status,
                        .at_ms = event.at_ms,
                        .reason = event.reason,
                        .actor = event.actor});
    order.status = status;
  }

  std::map<std::string, Payment> payments_;
  std::vector<OrderChange> changes_;  // without positions
};

inline std::vector<OrderChange> without_positions(std::vector<OrderChange> changes) {
  for (OrderChange& change : changes) change.position = 0;
  return changes;
}

/// Random events. Their numbers come from small ranges, so that orders and payments collide.
class RandomEvents : public RandomOrders {
 public:
  using RandomOrders::RandomOrders;

  std::vector<OrderEvent> events() {
    std::vector<OrderEvent> events;
    for (std::int64_t left = below(40); left > 0; --left) events.push_back(event());
    return events;
  }

  PaymentFilter payment_filter() {
    PaymentFilter filter;
    if (below(2) == 0) filter.order = known_order();
    if (below(2) == 0) filter.state = static_cast<Payment::State>(1 + below(3));
    if (below(2) == 0) filter.after = payment_id();
    filter.count_max = static_cast<std::size_t>(below(30));
    return filter;
  }
  /// Returns the id of an order that was sent, and rarely another one.
  OrderId known_order() {
    if (ids_.empty() || below(10) == 0) return 1 + below(2000);
    return ids_[static_cast<std::size_t>(below(static_cast<std::int64_t>(ids_.size())))];
  }

 private:
  OrderEvent event() {
    OrderEvent event{.kind = static_cast<EventKind>(below(8)),
                     .at_ms = below(1'000'000),
                     .reason = "r" + std::to_string(below(10)),
                     .actor = "a" + std::to_string(below(10))};
    if (below(4) == 0) event.kind = EventKind::kAdmitted;
    if (event.kind == EventKind::kAdmitted) {
      event.order = order();
      ids_.push_back(event.order.id);
      return event;
    }
    event.order.id = known_order();
    event.order.keeps_stock = below(2) == 0;
    event.order.keeps_allowance = below(2) == 0;
    event.payment.id = payment_id();
    event.payment.amount_cents = below(3);
    return event;
  }
  std::string payment_id() { return "p" + std::to_string(below(300)); }

  std::vector<OrderId> ids_;
};

TEST_P(PaymentStoreTest, RandomEventsMatchModel) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  RandomEvents random(seed, store().takes_user_names());
  EventModel model;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    const std::vector<OrderEvent> events = random.events();
    std::vector<Kind> expected;
    expected.reserve(events.size());
    for (const OrderEvent& event : events) expected.push_back(model.apply(event));
    EXPECT_EQ(apply_kinds(events), expected);
    if (random.below(20) == 0) reopen_if_possible();
    const PaymentFilter filter = random.payment_filter();
    EXPECT_EQ(payments().list_payments(filter).value(), model.list(filter));
    const OrderFilter orders = random.filter();
    EXPECT_EQ(store().list(orders).value(), model.list(orders));
    const VoucherId voucher = random.below(3);
    EXPECT_EQ(store().count_live(voucher).value(), model.count_live(voucher));
    const OrderId order = random.known_order();
    std::vector<OrderChange> of_order;
    for (const OrderChange& change : model.changes()) {
      if (change.order == order) of_order.push_back(change);
    }
    EXPECT_EQ(without_positions(changes(0, order)), of_order);
  }
  EXPECT_EQ(store().list(at_most(10'000)).value(), model.list(at_most(10'000)));
  EXPECT_EQ(without_positions(changes(0)), model.changes());
}

}  // namespace order_store_contract
}  // namespace rushgate
