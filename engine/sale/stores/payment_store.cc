#include <utility>

#include "engine/core/base/concat.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using EventKind = OrderEvent::Kind;

EventDecision only(OrderResult::Kind kind, std::string reason = {}) {
  return {.result = {.kind = kind, .reason = std::move(reason)}};
}
EventDecision already_stored() { return only(OrderResult::Kind::kAlreadyStored); }
EventDecision refused_event(std::string reason) {
  return only(OrderResult::Kind::kRefused, std::move(reason));
}

EventDecision wrong_state(const OrderEvent& event, const Order& order) {
  return refused_event(concat("order ", order.id, " is ", order_status_name(order.status), ": ",
                              order_event_name(event.kind), " is not possible"));
}

/// Changes the order's state, if that is possible.
EventDecision become(OrderStatus status, const OrderEvent& event, const Order& order) {
  if (!may_become(order.status, status)) return wrong_state(event, order);
  return {.status = status};
}

/// Returns the event's payment in a state.
Payment received(const OrderEvent& event, Payment::State state, std::string reason) {
  Payment payment = event.payment;
  payment.order = event.order.id;
  payment.state = state;
  payment.received_at_ms = event.at_ms;
  payment.reason = std::move(reason);
  return payment;
}

/// Decides on a payment. One that pays nothing becomes due: the money has come.
EventDecision check_payment(const OrderEvent& event, const EventContext& context) {
  const std::size_t id_bytes = event.payment.id.size();
  if (id_bytes == 0 || id_bytes > Payment::kIdBytesMax) {
    return refused_event(
        concat("a payment id must have 1 to ", Payment::kIdBytesMax, " bytes, not ", id_bytes));
  }
  if (const auto& known = context.payment) {
    const bool is_same =
        known->order == event.order.id && known->amount_cents == event.payment.amount_cents;
    if (is_same) return already_stored();
    return refused_event(concat("payment ", known->id, " of ", known->amount_cents,
                                " cents belongs to order ", known->order));
  }
  const Order& order = *context.order;
  if (event.kind == EventKind::kSurplusPayment) {
    return {.payment = received(event, Payment::State::kDue, event.reason)};
  }
  if (!may_become(order.status, OrderStatus::kPaid)) {
    return {.payment = received(event, Payment::State::kDue,
                                concat("the order was ", order_status_name(order.status)))};
  }
  return {.status = OrderStatus::kPaid, .payment = received(event, Payment::State::kKept, {})};
}

EventDecision check_refund_of_payment(const OrderEvent& event, const EventContext& context) {
  const auto& known = context.payment;
  if (!known) return refused_event(concat("there is no payment ", event.payment.id));
  switch (known->state) {
    case Payment::State::kRefunded:
      return already_stored();
    case Payment::State::kKept:
      return refused_event(concat("payment ", known->id, " is not due: refund its order first"));
    case Payment::State::kDue:
      break;
  }
  Payment payment = *known;
  payment.state = Payment::State::kRefunded;
  payment.refunded_at_ms = event.at_ms;
  return {.payment = std::move(payment)};
}

}  // namespace

std::string_view payment_state_name(Payment::State state) {
  switch (state) {
    case Payment::State::kKept:
      return "kept";
    case Payment::State::kDue:
      return "due";
    case Payment::State::kRefunded:
      return "refunded";
  }
  return "?";
}

std::string paid_by(std::string_view payment) { return concat("payment ", payment); }

std::string_view order_event_name(OrderEvent::Kind kind) {
  switch (kind) {
    case EventKind::kAdmitted:
      return "admitted";
    case EventKind::kPaid:
      return "paid";
    case EventKind::kSurplusPayment:
      return "surplus payment";
    case EventKind::kCancelled:
      return "cancelled";
    case EventKind::kUsed:
      return "used";
    case EventKind::kRefundBegun:
      return "refund begun";
    case EventKind::kRefundEnded:
      return "refund ended";
    case EventKind::kPaymentRefunded:
      return "payment refunded";
  }
  return "?";
}

absl::Status for_each_payment(PaymentStore& store, PaymentFilter filter,
                              absl::FunctionRef<void(const Payment&)> visit) {
  while (true) {
    const auto portion = store.list_payments(filter);
    if (!portion.ok()) return portion.status();
    for (const Payment& payment : *portion) visit(payment);
    if (portion->empty() || portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
  }
}

EventDecision check_event(const OrderEvent& event, const EventContext& context) {
  if (event.kind == EventKind::kPaymentRefunded) return check_refund_of_payment(event, context);
  if (!context.order) {
    return only(OrderResult::Kind::kTooEarly, concat("order ", event.order.id, " is not stored"));
  }
  const Order& order = *context.order;
  const OrderStatus status = order.status;
  switch (event.kind) {
    case EventKind::kPaid:
    case EventKind::kSurplusPayment:
      return check_payment(event, context);
    case EventKind::kCancelled:
      if (status == OrderStatus::kCancelled) return already_stored();
      return become(OrderStatus::kCancelled, event, order);
    case EventKind::kUsed:
      if (status == OrderStatus::kUsed) return already_stored();
      return become(OrderStatus::kUsed, event, order);
    case EventKind::kRefundBegun: {
      if (is_refund(status)) return already_stored();
      EventDecision decision = become(OrderStatus::kRefunding, event, order);
      decision.are_payments_due = decision.status.has_value();
      return decision;
    }
    case EventKind::kRefundEnded:
      if (status == OrderStatus::kRefunded) return already_stored();
      return become(OrderStatus::kRefunded, event, order);
    case EventKind::kAdmitted:
    case EventKind::kPaymentRefunded:
      break;
  }
  return refused_event("not an event of a stored order");
}

std::optional<OrderChange> change_before(const OrderEvent& admitted) {
  if (admitted.order.status != OrderStatus::kCancelled) return std::nullopt;
  return OrderChange{.order = admitted.order.id,
                     .from = OrderStatus::kUnpaid,
                     .to = OrderStatus::kCancelled,
                     .at_ms = admitted.at_ms,
                     .reason = admitted.reason,
                     .actor = admitted.actor};
}

}  // namespace rushgate
