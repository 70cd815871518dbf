#include "storage/sqlite/event_writer.h"

#include <optional>
#include <utility>

namespace rushgate {

EventWriter::EventWriter(const SQLite::Database& database, OrderWriter& orders)
    : orders_(orders), archive_(database), payments_(database), changes_(database) {}

std::vector<OrderResult> EventWriter::apply_all(std::span<const OrderEvent> events,
                                                const BatchFence& fence) {
  orders_.begin_batch();
  payments_.begin_batch();
  changes_.begin_batch();
  std::vector<OrderResult> results;
  results.reserve(events.size());
  for (const OrderEvent& event : events) {
    const bool is_new = event.kind == OrderEvent::Kind::kAdmitted;
    results.push_back(is_new ? store(event, fence) : apply(event, fence));
  }
  orders_.end_batch();
  payments_.end_batch();
  return results;
}

OrderResult EventWriter::store(const OrderEvent& event, const BatchFence& fence) {
  OrderResult result = orders_.store(event.order, fence);
  const auto change = change_before(event);
  if (change && result.kind == OrderResult::Kind::kStored) changes_.append(*change);
  return result;
}

OrderResult EventWriter::apply(const OrderEvent& event, const BatchFence& fence) {
  const EventContext context = context_of(event);
  EventDecision decision = check_event(event, context);
  const bool is_stored = decision.result.kind == OrderResult::Kind::kStored;
  if (is_stored) carry_out(decision, event, context, fence);
  return std::move(decision.result);
}

EventContext EventWriter::context_of(const OrderEvent& event) {
  using Kind = OrderEvent::Kind;
  EventContext context;
  OrderId order = event.order.id;
  const bool is_of_payment = event.kind == Kind::kPaid || event.kind == Kind::kSurplusPayment ||
                             event.kind == Kind::kPaymentRefunded;
  if (is_of_payment) context.payment = payments_.find(event.payment.id);
  if (event.kind == Kind::kPaymentRefunded) order = context.payment ? context.payment->order : 0;
  context.order = orders_.find(order);
  const bool is_begun_here = event.kind == Kind::kUsed || event.kind == Kind::kRefundBegun;
  if (is_begun_here && context.order && archive_.is_archived(context.order->voucher)) {
    context.order.reset();  // it will be moved
  }
  if (is_of_payment && !context.payment) context.payment = archive_.find_payment(event.payment.id);
  // Of an archived order, only a late payment is recorded. A keyspace that was rolled back repeats
  // older events.
  if (is_of_keyspace(event.kind) && !context.order) context.order = archive_.find(order);
  return context;
}

/// A payment of an archived order was left to be refunded. Then it follows its order.
void EventWriter::put(const Payment& payment, const EventContext& context) {
  if (context.payment) {
    payments_.put(payment);
  } else {
    payments_.add(payment);
  }
  const bool is_refunded = payment.state == Payment::State::kRefunded;
  if (is_refunded && !context.order && archive_.find(payment.order)) payments_.archive(payment.id);
}

void EventWriter::carry_out(const EventDecision& decision, const OrderEvent& event,
                            const EventContext& context, const BatchFence& fence) {
  if (decision.payment) put(*decision.payment, context);
  if (decision.are_payments_due) payments_.make_due(event.order.id, event.reason);
  if (!decision.status) return;
  Order changed = *context.order;
  const OrderChange change = change_status(changed, *decision.status, event);
  orders_.change(*context.order, changed, fence);
  changes_.append(change);
}

}  // namespace rushgate
