#include "engine/sale/audit/hold_audit.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/held_orders.h"

namespace rushgate {
namespace {

using FaultKind = HoldFault::Kind;

constexpr std::size_t kOrdersPerAuditRead = 10'000;

}  // namespace

absl::Status HoldAuditor::read() {
  if (orders_.payments() == nullptr) return absl::OkStatus();
  absl::Status read = for_each_hold(
      client_, keys_,
      [&](OrderId order, const KnownHold& hold) {
        held_.insert_or_assign(order, Held{.hold = hold});
      },
      [&](std::string_view voucher) {
        if (const auto id = parse_int64(voucher)) closed_.push_back(*id);
      });
  if (!read.ok()) return read;
  // After the holds: the script that makes a hold sets its deadline.
  read = for_each_deadline(client_, keys_, [&](OrderId order, std::int64_t due_ms) {
    const auto found = held_.find(order);
    if (found == held_.end()) return;
    std::int64_t& first = found->second.deadline_ms;
    first = first == 0 ? due_ms : std::min(first, due_ms);
  });
  if (!read.ok()) return read;
  return for_each_received_payment(
      client_, keys_, [&](const ReceivedPayment& payment) { payments_.push_back(payment); });
}

std::vector<EndedHold> HoldAuditor::ends() const {
  std::vector<EndedHold> ends;
  for (const auto& [order, held] : held_) {
    if (held.hold.ended) ends.push_back(*held.hold.ended);
  }
  std::ranges::sort(ends, {}, [](const EndedHold& end) { return end.order.id; });
  return ends;
}

absl::StatusOr<std::vector<HoldFault>> HoldAuditor::find_faults(
    const UnstoredOrders& unstored, const AcknowledgedEntries& acknowledged) {
  if (orders_.payments() == nullptr) return std::vector<HoldFault>{};
  collect(unstored, acknowledged);
  absl::Status done = compare_orders();
  for (const OrderId suspect : suspects_) {
    if (done.ok()) done = examine(suspect);
  }
  for (const auto part : {&HoldAuditor::examine_events, &HoldAuditor::examine_payments,
                          &HoldAuditor::examine_closings}) {
    if (done.ok()) done = (this->*part)();
  }
  if (!done.ok()) return done;
  return std::move(faults_);
}

/// Notes the orders and events of the streams. An event that was acknowledged is in the database, or
/// lost.
void HoldAuditor::collect(const UnstoredOrders& unstored, const AcknowledgedEntries& acknowledged) {
  for (const auto* orders : {&unstored.queued, &unstored.dead, &unstored.without_stock}) {
    for (const Order& order : *orders) unstored_.emplace(order.id, order);
  }
  discarded_ = unstored.discarded;
  for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
    if (!acknowledged.contains(unstored.queued_as[i])) queued_.insert(unstored.queued[i].id);
  }
  const auto note = [&](const OrderEvent& event) {
    if (ends_hold(event)) ended_.insert(event.order.id);
    if (!event.payment.id.empty()) payment_events_.emplace(event.payment.id, event);
  };
  for (const OrderEvent& event : unstored.events) {
    if (acknowledged.contains(event.order.entry)) continue;
    note(event);
    events_of_order_[event.order.id].push_back(queued_events_.size());
    queued_events_.push_back(event);
  }
  for (const auto* events : {&unstored.dead_events, &unstored.discarded_events}) {
    std::ranges::for_each(*events, note);
  }
}

// ---- Holds ----

/// Reads the orders by their vouchers: between those of a lane there are others'. One whose voucher is new
/// is looked at later, if it has a hold.
absl::Status HoldAuditor::compare_orders() {
  ASSIGN_OR_RETURN(const auto vouchers, orders_.vouchers_with_orders());
  for (const VoucherId voucher : vouchers) {
    const absl::Status read =
        for_each_order(orders_, {.voucher = voucher, .count_max = kOrdersPerAuditRead},
                       [&](const Order& order) { compare(order); });
    if (!read.ok()) return read;
  }
  for (const auto& [id, order] : unstored_) {
    meet_events(order);
    const auto found = held_.find(id);
    if (found == held_.end() && is_unheld(order)) suspects_.insert(id);
    if (found == held_.end() || found->second.is_met) continue;
    Held& held = found->second;
    const bool has_ended = held.hold.ended && ended_.contains(id);
    held.is_met = has_ended || held.is_of(order);
  }
  for (const auto& [id, held] : held_) {
    if (!held.is_met) suspects_.insert(id);
  }
  return absl::OkStatus();
}

/// Compares a stored order with its hold. An order that was stored may be in the stream as well.
void HoldAuditor::compare(const Order& order) {
  meet_events(order);
  const bool is_unpaid = order.status == OrderStatus::kUnpaid;
  const auto found = held_.find(order.id);
  if (found == held_.end()) {
    if (is_unpaid) suspects_.insert(order.id);
    return;
  }
  Held& held = found->second;
  const bool has_ended = held.hold.ended && (!is_unpaid || ended_.contains(order.id));
  held.is_met = has_ended || (is_unpaid && held.is_of(order));
}

/// Returns true if an order that is not stored needs a hold. A dead one may have lost it.
bool HoldAuditor::is_unheld(const Order& order) const {
  return order.status == OrderStatus::kUnpaid && queued_.contains(order.id) &&
         !ended_.contains(order.id);
}

void HoldAuditor::meet_events(const Order& order) {
  const auto events = events_of_order_.find(order.id);
  if (events == events_of_order_.end()) return;
  for (const std::size_t index : events->second) compare_event(queued_events_[index], order);
  events_of_order_.erase(events);
}

/// Reads an order and its hold until both stay the same. A hold is taken, ends, and is forgotten after
/// its end was stored; nothing goes back. So the two are of one moment then.
absl::StatusOr<HoldAuditor::Look> HoldAuditor::look_at(OrderId id) {
  constexpr int kLooksMax = 100;
  std::optional<Look> before;
  for (int look = 1;; ++look) {
    ASSIGN_OR_RETURN(auto hold, find_hold(client_, keys_, id));
    ASSIGN_OR_RETURN(auto order, orders_.find(id));
    Look now{.hold = std::move(hold), .order = std::move(order)};
    const bool is_same = before && before->hold == now.hold && before->order == now.order;
    if (is_same || look == kLooksMax) return now;
    before = std::move(now);
  }
}

absl::Status HoldAuditor::examine(OrderId id) {
  ASSIGN_OR_RETURN(auto look, look_at(id));
  const auto waiting = unstored_.find(id);
  const bool is_stored = look.order.has_value();
  const bool is_unpaid = is_stored && look.order->status == OrderStatus::kUnpaid;
  if (!look.hold) {
    const bool is_queued_unheld =
        !is_stored && waiting != unstored_.end() && is_unheld(waiting->second);
    if (is_unpaid ? ended_.contains(id) : !is_queued_unheld) return absl::OkStatus();
    const Order& unheld = is_stored ? *look.order : waiting->second;
    ASSIGN_OR_RETURN(const auto closed, is_closed(unheld.voucher));
    if (!closed) add(FaultKind::kNotHeld, unheld, "is unpaid and is not held");
    return absl::OkStatus();
  }
  const KnownHold& hold = *look.hold;
  Order order{.id = id, .voucher = hold.voucher};
  if (waiting != unstored_.end()) order = waiting->second;
  if (is_stored) order = *look.order;
  const auto read_before = held_.find(id);
  const bool is_as_read = read_before != held_.end() && read_before->second.hold == hold;
  if (hold.ended) {
    // Only of an end that was there before the streams were read, its event must have been met.
    const bool is_lost =
        (!is_stored || is_unpaid) && is_as_read && !ended_.contains(id) && !discarded_.contains(id);
    if (!is_lost) return absl::OkStatus();
    const bool has_order = is_stored || waiting != unstored_.end();
    add(has_order ? FaultKind::kLostEnd : FaultKind::kWithoutOrder, order,
        concat(has_order ? "is not stored as " : "is in no store, and ended as ", hold.ended->how,
               has_order ? ", and the event is lost" : ""),
        hold);
    return absl::OkStatus();
  }
  const auto closed = is_closed(hold.voucher);
  if (!closed.ok() || *closed) return closed.status();
  if (!is_stored && waiting == unstored_.end()) {
    if (is_as_read) add(FaultKind::kWithoutOrder, order, "is held, and no store has it", hold);
    return absl::OkStatus();
  }
  if (is_stored && !is_unpaid) {
    add(FaultKind::kHeld, order, concat("is ", order_status_name(order.status), " and is held"),
        hold);
    return absl::OkStatus();
  }
  return examine_hold(order, hold);
}

/// Compares the hold of an unpaid order with it.
absl::Status HoldAuditor::examine_hold(const Order& order, const KnownHold& hold) {
  const std::string right = describe_hold(order);
  if (hold.text != right) {
    add(FaultKind::kOtherHold, order,
        concat("is held as \"", hold.text, "\", and is \"", right, "\""), hold);
    return absl::OkStatus();
  }
  const auto found = held_.find(order.id);
  if (found != held_.end() && found->second.is_in_time(order)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto has_deadline,
                   has_deadline_at(client_, keys_, order.id, order.due_at_ms));
  if (has_deadline) return absl::OkStatus();
  // It may have ended just now, with the last one of its deadline.
  ASSIGN_OR_RETURN(const auto now, find_hold(client_, keys_, order.id));
  if (now == hold) {
    add(FaultKind::kOtherHold, order,
        concat("is held until ", order.due_at_ms, " ms, and has no such deadline"), hold);
  }
  return absl::OkStatus();
}

/// Returns true if the holds of the voucher are closed: a rebuild checks them.
absl::StatusOr<bool> HoldAuditor::is_closed(VoucherId voucher) {
  const Reply closed = client_("HEXISTS", keys_.held(), concat(kClosedField, voucher));
  if (!closed.is_integer()) return to_status(closed, "looking for a rebuild");
  return closed.integer() == 1;
}

/// A rebuild closes a voucher and its holds in one script, and opens them so.
absl::Status HoldAuditor::examine_closings() {
  for (const VoucherId voucher : closed_) {
    ASSIGN_OR_RETURN(const auto forged, find_forged_closing(client_, keys_, voucher, false));
    if (!forged) continue;
    faults_.push_back(
        {.kind = FaultKind::kForgedClosing,
         .order = {.voucher = voucher},
         .description = concat("voucher ", voucher, ": its holds are closed (field ", kClosedField,
                               voucher, " of ", keys_.held(), "), and no rebuild closed them")});
  }
  return absl::OkStatus();
}

// ---- Events and payments ----

/// Examines the events of orders that were not met. The others were compared with theirs.
absl::Status HoldAuditor::examine_events() {
  for (const auto& [id, events] : events_of_order_) {
    const auto stored = orders_.find(id);  // archived, or stored since the orders were read
    if (!stored.ok()) return stored.status();
    for (const std::size_t index : events) {
      const OrderEvent& event = queued_events_[index];
      if (stored->has_value()) {
        compare_event(event, **stored);
      } else {
        add(FaultKind::kWithoutOrder, event.order,
            concat("is in no store, and has an event in the stream: ",
                   order_event_name(event.kind)));
      }
    }
  }
  return absl::OkStatus();
}

void HoldAuditor::compare_event(const OrderEvent& event, const Order& order) {
  if (order.user == event.order.user && order.voucher == event.order.voucher) return;
  add(FaultKind::kWithoutOrder, order,
      concat("is of user ", order.user.text(), ", and its event ", order_event_name(event.kind),
             " of user ", event.order.user.text(), " and voucher ", event.order.voucher));
}

absl::Status HoldAuditor::examine_payments() {
  absl::flat_hash_set<std::string> known;
  std::vector<const ReceivedPayment*> lost;
  for (const ReceivedPayment& payment : payments_) {
    known.insert(payment.id);
    ASSIGN_OR_RETURN(const auto seems_lost, examine_payment(payment));
    if (seems_lost) lost.push_back(&payment);
  }
  RETURN_IF_ERROR(examine_lost(lost));
  for (const OrderEvent& event : queued_events_) {
    if (event.payment.id.empty() || known.contains(event.payment.id)) continue;
    // It came after the payments were read, or is stored and forgotten.
    ASSIGN_OR_RETURN(const auto now, find_received_payment(client_, keys_, event.payment.id));
    if (now.has_value()) continue;
    ASSIGN_OR_RETURN(const auto stored, orders_.payments()->find_payment(event.payment.id));
    if (stored.has_value()) continue;
    add(FaultKind::kUnqueuedPayment, event.order,
        concat("has payment ", event.payment.id,
               " in the stream, and the keyspace does not know it"));
  }
  return absl::OkStatus();
}

/// A payment that was acknowledged is in the stream, among the letters or in the database. Returns true
/// if none of them has it, so that it seems lost.
absl::StatusOr<bool> HoldAuditor::examine_payment(const ReceivedPayment& payment) {
  const auto differ = [&](OrderId its_order, std::int64_t amount_cents) {
    return payment.order != its_order || payment.amount_cents != amount_cents;
  };
  const auto describe = [](std::int64_t amount_cents, OrderId order) {
    return concat(amount_cents, " cents of order ", order);
  };
  const std::string there = concat("is \"", payment.value, "\" in the keyspace, and ");
  const auto event = payment_events_.find(payment.id);
  if (event != payment_events_.end()) {
    const OrderEvent& queued = event->second;
    if (differ(queued.order.id, queued.payment.amount_cents)) {
      add(FaultKind::kUnqueuedPayment, payment,
          concat(there, describe(queued.payment.amount_cents, queued.order.id), " in the stream"));
    }
    return false;
  }
  ASSIGN_OR_RETURN(const auto stored, orders_.payments()->find_payment(payment.id));
  const bool is_right = stored.has_value() && !differ(stored->order, stored->amount_cents);
  if (is_right) return false;
  const auto is_there = is_there_still(payment);
  if (!is_there.ok() || !*is_there) return is_there;
  if (stored.has_value()) {
    add(FaultKind::kOtherPayment, payment,
        concat(there, describe(stored->amount_cents, stored->order), " in the database"));
    return false;
  }
  return true;
}

/// Returns true if the keyspace has the payment as it was read.
absl::StatusOr<bool> HoldAuditor::is_there_still(const ReceivedPayment& payment) {
  ASSIGN_OR_RETURN(const auto now, find_received_payment(client_, keys_, payment.id));
  return now.has_value() && now->value == payment.value;
}

/// Examines payments that seem lost. One of them may have been stored, and deleted with its archived
/// order: then it is noted as stored. A note is made before that, and forgotten with its payment. So the
/// notes are read after the look-ups in the database, and the payments are looked for after the notes.
absl::Status HoldAuditor::examine_lost(std::span<const ReceivedPayment* const> lost) {
  std::vector<Order> orders;  // of the payments; id 0: no store has it
  absl::flat_hash_set<std::string> without_order;
  for (const ReceivedPayment* const payment : lost) {
    ASSIGN_OR_RETURN(const auto order, orders_.find(payment->order));
    const auto waiting = unstored_.find(payment->order);
    const bool is_waiting = waiting != unstored_.end() && !discarded_.contains(payment->order);
    orders.push_back(order.has_value() ? *order : is_waiting ? waiting->second : Order{});
    if (orders.back().id == 0) without_order.insert(payment->id);
  }
  ASSIGN_OR_RETURN(const auto noted, find_noted_as_stored(client_, keys_, without_order));
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (noted.contains(lost[i]->id)) continue;
    ASSIGN_OR_RETURN(const auto is_there, is_there_still(*lost[i]));
    if (is_there) add_lost(*lost[i], orders[i]);
  }
  return absl::OkStatus();
}

void HoldAuditor::add_lost(const ReceivedPayment& payment, const Order& order) {
  const auto is_lost_end = [&](const HoldFault& fault) {
    return fault.kind == FaultKind::kLostEnd && fault.order.id == payment.order &&
           fault.hold->ended->payment() == payment.id;
  };
  if (std::ranges::any_of(faults_, is_lost_end)) return;  // one event of both
  add(FaultKind::kLostPayment, payment,
      concat("was received (", payment.amount_cents,
             " cents), and neither the stream nor the database has it"));
  faults_.back().order = order;
}

void HoldAuditor::add(HoldFault::Kind kind, const Order& order, std::string_view problem,
                      std::optional<KnownHold> hold) {
  faults_.push_back(
      {.kind = kind,
       .order = order,
       .hold = std::move(hold),
       .description = concat("voucher ", order.voucher, ": order ", order.id, " ", problem)});
}

void HoldAuditor::add(HoldFault::Kind kind, const ReceivedPayment& payment,
                      std::string_view problem) {
  faults_.push_back(
      {.kind = kind,
       .payment = payment,
       .description = concat("payment ", payment.id, " of order ", payment.order, " ", problem)});
}

}  // namespace rushgate
