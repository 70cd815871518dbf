#include "engine/sale/orders/order_changes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/model/failure.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/dead_letters.h"

namespace rushgate {
namespace {

using EventKind = OrderEvent::Kind;
namespace scripts = payment_scripts;

// Orders in one read of the database.
constexpr std::size_t kOrdersPerRead = 1'000;
// Payments that one script decides on: buyers wait until it ends.
constexpr std::size_t kPaymentsPerCall = 256;
static_assert(Payment::kAmountCentsMax == kPriceCentsMax * Order::kQuantityMax);
// More changes than an order can have.
constexpr std::size_t kChangesMax = 100;

ChangeResult refused(std::string detail) {
  return {.outcome = ChangeOutcome::kRefused, .detail = std::move(detail)};
}

ChangeResult too_late(OrderStatus status, std::string detail) {
  return {.outcome = ChangeOutcome::kTooLate, .status = status, .detail = std::move(detail)};
}

ChangeResult done(OrderStatus status, bool is_repeated = false) {
  return {.outcome = ChangeOutcome::kDone, .is_repeated = is_repeated, .status = status};
}

ChangeResult overloaded(std::string detail) {
  return {.outcome = ChangeOutcome::kOverloaded, .detail = std::move(detail)};
}

ChangeResult hold_being_rebuilt() { return overloaded("its hold is being rebuilt"); }

ChangeResult voucher_being_rebuilt() { return overloaded("its voucher is being rebuilt"); }

ChangeResult changed_meanwhile() { return overloaded("another call is changing it"); }

ChangeResult not_stored_yet() {
  return overloaded("its payment or cancellation is not stored yet");
}

ChangeResult dead(OrderId order, const std::string& reason) {
  return refused(concat("order ", order, " could not be stored: ", reason));
}

ChangeResult unknown(OrderId order) {
  return {.outcome = ChangeOutcome::kUnknownOrder, .detail = concat("there is no order ", order)};
}

ChangeResult failure(const absl::Status& status) { return failure_of<ChangeResult>(status); }

/// Returns the result of a change whose script got an error.
ChangeResult failure(const Reply& reply, std::string_view doing) {
  ChangeResult result = failure(to_status(reply, doing));
  if (has_code(reply, error_code::kOutcomeUnknown)) result.outcome = ChangeOutcome::kOutcomeUnknown;
  return result;
}

/// Returns the outcome in a script's reply; empty if it is not one.
std::optional<std::int64_t> outcome_in(const Reply& reply) {
  if (!reply.is_aggregate() || reply.elements().empty() || !reply.elements()[0].is_integer()) {
    return std::nullopt;
  }
  return reply.elements()[0].integer();
}

std::string text_in(const Reply& reply) {
  return reply.elements().size() < 2 || !reply.elements()[1].is_text()
             ? ""
             : std::string(reply.elements()[1].text());
}

/// Returns the reply for the `index`th payment of a call; an error is that of all.
const Reply& part_of(const Reply& reply, std::size_t index) {
  const bool is_list = reply.is_aggregate() && index < reply.elements().size();
  return is_list ? reply.elements()[index] : reply;
}

std::string find_fault(const PayRequest& request) {
  const std::string& id = request.payment;
  if (id.empty() || id.size() > Payment::kIdBytesMax) {
    return concat("the payment id must have 1 to ", Payment::kIdBytesMax, " bytes, not ",
                  id.size());
  }
  if (id.find(' ') != id.npos) return "the payment id must not have spaces";
  if (request.amount_cents <= 0 || request.amount_cents > Payment::kAmountCentsMax) {
    return concat("the amount must be from 1 to ", Payment::kAmountCentsMax, " cents, not ",
                  request.amount_cents);
  }
  return {};
}

}  // namespace

absl::Status OrderChanges::check_payments() const {
  if (stores_.orders.payments() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the order store keeps no payments");
}

// ---- Paying ----

/// Returns true if the payment pays its order, or paid it before the order was refunded. The refund
/// made it due for its own reason.
absl::StatusOr<bool> OrderChanges::has_paid(const Payment& payment) {
  if (payment.state == Payment::State::kKept) return true;
  ASSIGN_OR_RETURN(const auto changes,
                   stores_.orders.payments()->changes(0, kChangesMax, payment.order));
  const auto has = [&](auto is_it) { return std::ranges::any_of(changes, is_it); };
  return has([&](const OrderChange& change) {
           return change.to == OrderStatus::kPaid && change.at_ms == payment.received_at_ms;
         }) &&
         has([&](const OrderChange& change) {
           return change.to == OrderStatus::kRefunding && change.reason == payment.reason;
         });
}

/// Looks among the stored payments. The keyspace knows the payments not stored yet.
absl::StatusOr<std::optional<ChangeResult>> OrderChanges::find_recorded(const PayRequest& request) {
  ASSIGN_OR_RETURN(const auto known, stores_.orders.payments()->find_payment(request.payment));
  if (!known.has_value()) return std::nullopt;
  const Payment& payment = *known;
  if (payment.order != request.order || payment.amount_cents != request.amount_cents) {
    return refused(concat("payment ", payment.id, " of ", payment.amount_cents,
                          " cents belongs to order ", payment.order));
  }
  ASSIGN_OR_RETURN(const auto order, stores_.orders.find(request.order));
  const OrderStatus status = order.has_value() ? order->status : OrderStatus::kPaid;
  ASSIGN_OR_RETURN(const auto paid, has_paid(payment));
  if (paid) return done(status, true);
  ChangeResult result = too_late(status, payment.reason);
  result.is_repeated = true;
  return result;
}

std::vector<ChangeResult> OrderChanges::pay_all(std::span<const PayRequest> requests) {
  if (const absl::Status possible = check_payments(); !possible.ok()) {
    return std::vector<ChangeResult>(requests.size(), failure(possible));
  }
  std::vector<ChangeResult> results(requests.size());
  std::vector<std::size_t> asked;  // the requests that the script decides on
  std::vector<const PayRequest*> payments;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const PayRequest& request = requests[i];
    if (std::string fault = find_fault(request); !fault.empty()) {
      results[i] = refused(std::move(fault));
      continue;
    }
    auto recorded = find_recorded(request);
    if (!recorded.ok() || recorded->has_value()) {
      results[i] = recorded.ok() ? **std::move(recorded) : failure(recorded.status());
      continue;
    }
    asked.push_back(i);
    payments.push_back(&request);
  }
  std::vector<Request> calls;
  for (std::size_t i = 0; i < payments.size(); i += kPaymentsPerCall) {
    const std::size_t count = std::min(kPaymentsPerCall, payments.size() - i);
    calls.push_back(make_pay(std::span(payments).subspan(i, count)));
  }
  const std::vector<Reply> replies = client_.run_all(scripts::pay(), calls);
  for (std::size_t i = 0; i < payments.size(); ++i) {
    const Reply& reply = part_of(replies[i / kPaymentsPerCall], i % kPaymentsPerCall);
    results[asked[i]] = conclude_payment(reply, *payments[i]);
  }
  return results;
}

/// Concludes the first try of a payment, and tries it once more if that may help.
ChangeResult OrderChanges::conclude_payment(const Reply& reply, const PayRequest& request) {
  bool is_first = true;
  return conclude([&] {
    return std::exchange(is_first, false) ? judge_payment(reply, request)
                                          : judge_payment(run_pay(request), request);
  });
}

/// The outcomes of the script, each with what judges it.
OrderChanges::Verdict OrderChanges::judge_payment(const Reply& reply, const PayRequest& request) {
  struct Row {
    std::int64_t outcome;
    Verdict (OrderChanges::*judge)(const Reply&, const PayRequest&);
  };
  static constexpr Row kOutcomes[] = {
      {scripts::kDone, &OrderChanges::judge_paid},
      {scripts::kRepeated, &OrderChanges::judge_repeated},
      {scripts::kIdReused, &OrderChanges::judge_reused_id},
      {scripts::kWrongAmount, &OrderChanges::judge_wrong_amount},
      {scripts::kHoldEnded, &OrderChanges::judge_ended_hold},
      {scripts::kNotHeld, &OrderChanges::judge_without_hold},
      {scripts::kVoucherClosed, &OrderChanges::judge_closed_voucher},
      {scripts::kDead, &OrderChanges::judge_dead_order},
  };
  const auto outcome = outcome_in(reply);
  const auto* const row = std::ranges::find_if(
      kOutcomes, [&outcome](const Row& one) { return one.outcome == outcome; });
  if (row == std::end(kOutcomes)) return failure(reply, concat("paying order ", request.order));
  return (this->*row->judge)(reply, request);
}

OrderChanges::Verdict OrderChanges::judge_paid(const Reply& /*reply*/,
                                               const PayRequest& /*request*/) {
  return done(OrderStatus::kPaid);
}

OrderChanges::Verdict OrderChanges::judge_repeated(const Reply& reply, const PayRequest& request) {
  if (text_in(reply) == order_event_name(EventKind::kPaid)) return done(OrderStatus::kPaid, true);
  const auto status = find_status(request.order);
  if (!status.ok()) return failure(status.status());
  ChangeResult result = too_late(status->value_or(OrderStatus::kCreated), "it was recorded before");
  result.is_repeated = true;
  return result;
}

OrderChanges::Verdict OrderChanges::judge_reused_id(const Reply& reply, const PayRequest& request) {
  return refused(
      concat("payment ", request.payment, " came with another order or amount: ", text_in(reply)));
}

OrderChanges::Verdict OrderChanges::judge_wrong_amount(const Reply& reply,
                                                       const PayRequest& request) {
  return refused(concat("order ", request.order, " needs a payment of ", text_in(reply),
                        " cents, not ", request.amount_cents));
}

OrderChanges::Verdict OrderChanges::judge_ended_hold(const Reply& reply,
                                                     const PayRequest& request) {
  auto ended = EndedHold::read(request.order, text_in(reply));
  if (!ended) return failure(reply, "reading the end of a hold");
  const auto status = present_status(*ended);
  if (!status.ok()) return failure(status.status());
  // This very payment, of which the keyspace forgot the id, and which the database has lost.
  if (ended->how == concat(order_event_name(EventKind::kPaid), " ", request.payment)) {
    return done(*status, true);
  }
  ended->order.status = *status;
  return record_surplus(request, ended->order, ended->how);
}

/// The keyspace does not hold the order: it has ended, or the hold is lost, or the order was admitted
/// just now.
OrderChanges::Verdict OrderChanges::judge_without_hold(const Reply& /*reply*/,
                                                       const PayRequest& request) {
  // A worker may have stored this very payment since it was looked for.
  auto recorded = find_recorded(request);
  if (!recorded.ok()) return failure(recorded.status());
  if (recorded->has_value()) return **std::move(recorded);
  const auto found = look_up(request.order);
  if (!found.ok()) return failure(found.status());
  if (found->kind != Standing::Kind::kSettled) return judge_unsettled(request.order, *found);
  const Order& order = found->order;
  if (order.due_at_ms == 0) {
    return refused(concat("order ", request.order, " demands no payment"));
  }
  return record_surplus(request, order, concat("the order was ", order_status_name(order.status)));
}

/// The voucher is closed. The process that closed it may have ended.
OrderChanges::Verdict OrderChanges::judge_closed_voucher(const Reply& reply,
                                                         const PayRequest& /*request*/) {
  const auto voucher = parse_int64(text_in(reply));
  if (!voucher) return voucher_being_rebuilt();
  return {voucher_being_rebuilt(), Cure::kRebuildVoucher, *voucher};
}

/// The order is a dead letter, unless it was retried just now.
OrderChanges::Verdict OrderChanges::judge_dead_order(const Reply& /*reply*/,
                                                     const PayRequest& request) {
  const auto letter = find_dead_letter(client_, keys_, request.order);
  if (!letter.ok()) return failure(letter.status());
  if (letter->has_value()) return dead(request.order, (*letter)->reason);
  return {overloaded("the order was retried just now"), Cure::kTryAgain};
}

absl::StatusOr<std::optional<OrderStatus>> OrderChanges::find_status(OrderId order) {
  ASSIGN_OR_RETURN(const auto stored, stores_.orders.find(order));
  if (stored.has_value() && stored->status != OrderStatus::kUnpaid) return stored->status;
  ASSIGN_OR_RETURN(const auto hold, find_hold(client_, keys_, order));
  if (hold.has_value()) {
    return hold->ended ? present_status(*hold->ended) : OrderStatus::kUnpaid;
  }
  ASSIGN_OR_RETURN(const auto letter, find_dead_letter(client_, keys_, order));
  if (letter.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const auto found, find_order(order));
  if (!found.has_value()) return std::nullopt;
  return found->status;
}

/// Returns the state of an order whose hold ended. Its end may be stored, and the order changed after
/// it.
absl::StatusOr<OrderStatus> OrderChanges::present_status(const EndedHold& ended) {
  ASSIGN_OR_RETURN(const auto stored, stores_.orders.find(ended.order.id));
  const bool is_stored = stored.has_value() && stored->status != OrderStatus::kUnpaid;
  return is_stored ? stored->status : ended.order.status;
}

Request OrderChanges::make_pay(std::span<const PayRequest* const> requests) const {
  const std::string held = keys_.held();
  const std::string payments = keys_.payments();
  const std::string dead = keys_.dead_letter_orders();
  const std::string_view keys[] = {held, payments, keys_.order_stream, dead};
  Request call = client_.script_request(scripts::pay(), keys, {});
  for (const PayRequest* request : requests) {
    call.add(request->order);
    call.add(request->payment);
    call.add(request->amount_cents);
  }
  return call;
}

Reply OrderChanges::run_pay(const PayRequest& request) {
  const PayRequest* const one = &request;
  const Reply reply = client_.run(scripts::pay(), [&] { return make_pay({&one, 1}); });
  return part_of(reply, 0);
}

// ---- Verdicts ----

/// Judges a change. Tries it once more if its verdict has a cure.
ChangeResult OrderChanges::conclude(absl::FunctionRef<Verdict()> judge) {
  Verdict verdict = judge();
  absl::Status cured;
  switch (verdict.cure) {
    case Cure::kNone:
      return std::move(verdict.result);
    case Cure::kTryAgain:
      break;
    case Cure::kRebuildVoucher:
      cured = vouchers_.rebuild(verdict.voucher);
      break;
    case Cure::kRebuildHolds:
      cured = vouchers_.rebuild_holds(verdict.voucher);
      break;
  }
  return cured.ok() ? judge().result : failure(cured);
}

/// Judges a change of an order that had no hold and is not settled: the order was changed meanwhile, or
/// its hold was lost.
OrderChanges::Verdict OrderChanges::judge_unsettled(OrderId id, const Standing& found) {
  switch (found.kind) {
    case Standing::Kind::kUnknown:
      return unknown(id);
    case Standing::Kind::kHeld:
    case Standing::Kind::kEnding:
    case Standing::Kind::kSettled:
      return {changed_meanwhile(), Cure::kTryAgain};
    case Standing::Kind::kDead:
      return dead(id, found.reason);
    case Standing::Kind::kLost:
      break;
  }
  return {hold_being_rebuilt(), Cure::kRebuildHolds, found.order.voucher};
}

// ---- Surplus payments ----

ChangeResult OrderChanges::record_surplus(const PayRequest& request, const Order& order,
                                          const std::string& reason) {
  const std::string payments = keys_.payments();
  const std::string owner = keys_.stream_owner();
  const std::string_view keys[] = {payments, keys_.order_stream, owner};
  const DecimalText id(request.order);
  const DecimalText voucher(order.voucher);
  const std::string user = order.user.text();
  const DecimalText amount(request.amount_cents);
  const std::string_view arguments[] = {id, voucher, user, request.payment, amount, reason};
  Reply reply = client_.run(scripts::record_surplus(), keys, arguments);
  if (outcome_in(reply) == scripts::kVoucherClosed) {
    const absl::Status verified = owner_.verify(client_);
    if (!verified.ok()) return failure(verified);
    reply = client_.run(scripts::record_surplus(), keys, arguments);
  }
  const auto outcome = outcome_in(reply);
  if (outcome == scripts::kVoucherClosed) return overloaded("the keyspace lost its writes");
  if (!outcome) return failure(reply, concat("recording payment ", request.payment));
  if (*outcome == scripts::kIdReused) {
    return refused(concat("payment ", request.payment,
                          " came with another order or amount: ", text_in(reply)));
  }
  ChangeResult result = too_late(order.status, reason);
  result.is_repeated = *outcome == scripts::kRepeated;
  return result;
}

// ---- Cancelling ----

ChangeResult OrderChanges::cancel(OrderId order, const std::string& reason,
                                  const std::string& actor) {
  if (const absl::Status possible = check_payments(); !possible.ok()) return failure(possible);
  return conclude([&] { return judge_cancellation(order, reason, actor); });
}

OrderChanges::Verdict OrderChanges::judge_cancellation(OrderId order, const std::string& reason,
                                                       const std::string& actor) {
  const auto hold = find_hold(client_, keys_, order);
  if (!hold.ok()) return failure(hold.status());
  if (!hold->has_value()) return judge_cancellation_without_hold(order);
  if (const auto& ended = (*hold)->ended) {
    const auto status = present_status(*ended);
    if (!status.ok()) return failure(status.status());
    if (*status != OrderStatus::kCancelled) return too_late(*status, ended->how);
    ChangeResult result = done(OrderStatus::kCancelled, true);
    result.detail = ended->how;
    return result;
  }
  const VoucherId voucher = (*hold)->voucher;
  const auto cancelled =
      cancel_holds(client_, keys_, voucher, {&order, 1}, {.reason = reason, .actor = actor});
  if (!cancelled.is_aggregate() || cancelled.elements().size() != 1) {
    return failure(cancelled, concat("cancelling order ", order));
  }
  const auto outcome = outcome_in(cancelled.elements()[0]);
  if (outcome == scripts::kDone) return done(OrderStatus::kCancelled);
  if (outcome == scripts::kHoldEnded || outcome == scripts::kNotHeld) {
    // It ended between the two requests.
    return {changed_meanwhile(), Cure::kTryAgain};
  }
  return {voucher_being_rebuilt(), Cure::kRebuildVoucher, voucher};
}

/// The order has ended, or was admitted just now, or its hold is lost.
OrderChanges::Verdict OrderChanges::judge_cancellation_without_hold(OrderId id) {
  const auto found = look_up(id);
  if (!found.ok()) return failure(found.status());
  if (found->kind != Standing::Kind::kSettled) return judge_unsettled(id, *found);
  const OrderStatus status = found->order.status;
  if (status == OrderStatus::kCancelled) return done(status, true);
  return too_late(status, "only an unpaid order can be cancelled");
}

absl::StatusOr<std::optional<Order>> OrderChanges::find_order(OrderId order) {
  if (order <= 0) return std::nullopt;  // ids are positive
  auto stored = stores_.orders.find(order);
  if (!stored.ok() || stored->has_value()) return stored;
  auto queued = queued_.find(order);
  if (!queued.ok() || queued->has_value()) return queued;
  return stores_.orders.find(order);  // it may have been stored meanwhile
}

/// Looks for an order that had no hold, which alone says nothing: it may have been admitted since, or
/// its end stored and forgotten. A hold is lost only if the order is there first, then has no hold, and
/// then is still unpaid.
absl::StatusOr<OrderChanges::Standing> OrderChanges::look_up(OrderId id) {
  using Kind = Standing::Kind;
  const auto settled = [](const std::optional<Order>& order) {
    return order && order->status != OrderStatus::kUnpaid;
  };
  ASSIGN_OR_RETURN(const auto found, find_order(id));
  if (!found.has_value()) return look_up_dead(id, Standing{});
  if (settled(found)) return Standing{.kind = Kind::kSettled, .order = *found};
  ASSIGN_OR_RETURN(const auto hold, find_hold(client_, keys_, id));
  if (hold.has_value()) return Standing{.kind = hold->ended ? Kind::kEnding : Kind::kHeld};
  ASSIGN_OR_RETURN(const auto stored, stores_.orders.find(id));
  if (settled(stored)) return Standing{.kind = Kind::kSettled, .order = *stored};
  return look_up_dead(id, Standing{.kind = Kind::kLost, .order = *found});
}

/// Returns the standing of an order that is in neither store: `otherwise`, unless it is a dead letter.
absl::StatusOr<OrderChanges::Standing> OrderChanges::look_up_dead(OrderId id, Standing otherwise) {
  ASSIGN_OR_RETURN(auto letter, find_dead_letter(client_, keys_, id));
  if (!letter.has_value()) return otherwise;
  return Standing{.kind = Standing::Kind::kDead, .reason = std::move(letter->reason)};
}

// ---- Changes that begin in the database ----

/// Stores an event that begins in the database. kAborted: the epoch has ended. An error is in doubt if
/// the event may be stored.
absl::StatusOr<OrderResult> OrderChanges::store(const OrderEvent& event, const BatchFence& fence) {
  const auto results = stores_.apply({&event, 1}, fence);
  // A connection may have broken while the database committed.
  if (absl::IsUnavailable(results.status())) return in_doubt(results.status());
  if (!results.ok()) return results.status();
  const OrderResult& result = results->front();
  const bool is_done =
      result.kind == OrderResult::Kind::kStored || result.kind == OrderResult::Kind::kAlreadyStored;
  const auto failed = [is_done](const absl::Status& error) {
    return is_done ? in_doubt(error) : error;
  };
  const auto batch = owner_.recorded_with(fence);
  if (!batch.ok()) return failed(batch.status());
  const absl::Status noted = is_done ? note(event, *batch) : owner_.tell_recorded(client_, *batch);
  // Pieces that are given back may be sold again before a database that lost the refund has it again.
  const bool must_be_noted = event.kind == EventKind::kRefundBegun || absl::IsAborted(noted);
  if (!noted.ok() && must_be_noted) return failed(noted);
  return result;
}

/// Appends a stored event to the order stream, in case the database loses it. Does nothing for an event without
/// an order.
absl::Status OrderChanges::note(const OrderEvent& event, const KeyspaceOwner::Recorded& batch) {
  if (event.kind == EventKind::kRefundEnded) return owner_.note_change(client_, batch, {});
  ASSIGN_OR_RETURN(const auto order, stores_.orders.find(event.order.id));
  if (!order.has_value()) return owner_.tell_recorded(client_, batch);
  const DecimalText id(order->id);
  const DecimalText voucher(order->voucher);
  const DecimalText at(event.at_ms);
  const std::string user = order->user.text();
  const std::string_view fields[] = {kEventField, order_event_name(event.kind),
                                     "id",        id,
                                     "userId",    user,
                                     "voucherId", voucher,
                                     "reason",    event.reason,
                                     "actor",     event.actor,
                                     "payment",   event.payment.id,
                                     kAtField,    at};
  return owner_.note_change(client_, batch, fields);
}

/// Applies one event in the present epoch, with a checkpoint: a copy of the database that lacks the
/// event is older. An error is in doubt if the event may be stored.
absl::StatusOr<OrderResult> OrderChanges::apply(const OrderEvent& event) {
  constexpr int kTries = 10;   // an epoch ends only with a rebuild or a new connection
  bool may_be_stored = false;  // by an earlier try
  for (int i = 1;; ++i) {
    auto result = try_to_apply(event);
    if (result.ok()) return result;
    may_be_stored = may_be_stored || is_in_doubt(result.status());
    if (absl::IsAborted(result.status()) && i < kTries) continue;
    return may_be_stored ? in_doubt(result.status()) : result.status();
  }
}

/// As apply(). kAborted: the epoch has ended, or the keyspace has lost its writes.
absl::StatusOr<OrderResult> OrderChanges::try_to_apply(const OrderEvent& event) {
  const auto fence = owner_.draw_fence(client_);
  if (absl::IsNotFound(fence.status())) {
    RETURN_IF_ERROR(owner_.verify(client_));
    return absl::AbortedError(fence.status().message());
  }
  if (!fence.ok()) return fence.status();
  RETURN_IF_ERROR(owner_.check_caught_up(client_));
  return store(event, *fence);
}

/// Carries out an event that makes the order `status`. An order that is not stored costs no
/// transaction.
ChangeResult OrderChanges::change_stored(const OrderEvent& event, OrderStatus status) {
  if (const absl::Status possible = check_payments(); !possible.ok()) return failure(possible);
  return conclude([&] { return judge_stored_change(event, status); });
}

OrderChanges::Verdict OrderChanges::judge_stored_change(const OrderEvent& event,
                                                        OrderStatus status) {
  const OrderId id = event.order.id;
  const auto hold = find_hold(client_, keys_, id);
  if (!hold.ok()) return failure(hold.status());
  const auto order = stores_.orders.find(id);
  if (!order.ok()) return failure(order.status());
  if (!order->has_value()) return explain_unstored(id);
  // A rebuild may have restored the end while a worker stored it.
  const bool is_ending = hold->has_value() && (*hold)->ended;
  if (is_ending && (*order)->status == OrderStatus::kUnpaid) return not_stored_yet();
  const auto result = apply(event);
  if (!result.ok()) return failure(result.status());
  switch (result->kind) {
    case OrderResult::Kind::kStored:
      return done(status);
    case OrderResult::Kind::kAlreadyStored:
      return done(status, true);
    case OrderResult::Kind::kTooEarly:
      return explain_unstored(id);
    case OrderResult::Kind::kRefused:
      break;
  }
  if ((*order)->status == OrderStatus::kUnpaid) {
    return judge_unpaid(id, result->reason);
  }
  const auto present = stores_.orders.find(id);
  if (!present.ok()) return failure(present.status());
  return too_late(present->value_or(**order).status, result->reason);
}

/// The order is unpaid in the database, and cannot be changed there. It may have been paid in the
/// keyspace, and its hold may be lost: then the payment is queued.
OrderChanges::Verdict OrderChanges::judge_unpaid(OrderId id, const std::string& reason) {
  const auto found = look_up(id);
  if (!found.ok()) return failure(found.status());
  using Kind = Standing::Kind;
  if (found->kind == Kind::kHeld) return too_late(OrderStatus::kUnpaid, reason);
  if (found->kind == Kind::kEnding) return not_stored_yet();
  if (found->kind == Kind::kUnknown || found->kind == Kind::kSettled) {
    return {changed_meanwhile(), Cure::kTryAgain};
  }
  return judge_unsettled(id, *found);
}

/// Says why an order cannot be changed in the database: it is not there yet, or no more.
ChangeResult OrderChanges::explain_unstored(OrderId id) {
  const auto order = find_order(id);
  if (!order.ok()) return failure(order.status());
  const auto letter = find_dead_letter(client_, keys_, id);
  if (!letter.ok()) return failure(letter.status());
  if (letter->has_value()) return dead(id, (*letter)->reason);
  if (!order->has_value()) return unknown(id);
  const auto archived = is_archived(stores_, (*order)->voucher);
  if (!archived.ok()) return failure(archived.status());
  return *archived ? too_late((*order)->status, "its sale is archived")
                   : overloaded("the order is not stored yet");
}

ChangeResult OrderChanges::use(OrderId order, const std::string& actor) {
  OrderEvent event{.kind = EventKind::kUsed, .at_ms = now_ms(), .actor = actor};
  event.order.id = order;
  return change_stored(event, OrderStatus::kUsed);
}

/// Reports a payment that is not in the database.
ChangeResult OrderChanges::explain_unknown(const std::string& payment) {
  const Reply queued = client_("HEXISTS", keys_.payments(), payment);
  if (!queued.is_integer()) return failure(queued, "looking for a payment");
  return queued.integer() == 1 ? overloaded("the payment is not stored yet")
                               : refused(concat("there is no payment ", payment));
}

ChangeResult OrderChanges::confirm_refund(const std::string& payment) {
  if (const absl::Status possible = check_payments(); !possible.ok()) return failure(possible);
  const auto known = stores_.orders.payments()->find_payment(payment);
  if (!known.ok()) return failure(known.status());
  if (!known->has_value()) return explain_unknown(payment);
  OrderEvent event{.kind = EventKind::kPaymentRefunded, .at_ms = now_ms()};
  event.payment.id = payment;
  event.order.id = (*known)->order;
  const auto result = apply(event);
  if (!result.ok()) return failure(result.status());
  if (result->kind == OrderResult::Kind::kRefused) return refused(result->reason);
  return done(OrderStatus::kRefunded, result->kind == OrderResult::Kind::kAlreadyStored);
}

// ---- Refunds ----

ChangeResult OrderChanges::refund(OrderId order, const std::string& reason,
                                  const std::string& actor) {
  OrderEvent event{
      .kind = EventKind::kRefundBegun, .at_ms = now_ms(), .reason = reason, .actor = actor};
  event.order.id = order;
  ChangeResult begun = change_stored(event, OrderStatus::kRefunded);
  if (begun.outcome != ChangeOutcome::kDone) return begun;
  const absl::Status ended = end_refund(order);
  return ended.ok() ? begun : failure(in_doubt(ended));
}

/// Ends a refund that another call began, which may have ended before it noted that.
absl::Status OrderChanges::finish_refund(OrderId id) {
  ASSIGN_OR_RETURN(const auto order, stores_.orders.find(id));
  if (!order.has_value() || order->status != OrderStatus::kRefunding) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto changes, stores_.orders.payments()->changes(0, kChangesMax, id));
  const auto begun = std::ranges::find(changes, OrderStatus::kRefunding, &OrderChange::to);
  if (begun != changes.end()) {
    const auto fence = owner_.draw_fence(client_);
    if (absl::IsNotFound(fence.status())) return absl::AbortedError(fence.status().message());
    if (!fence.ok()) return fence.status();
    RETURN_IF_ERROR(stores_.orders.record_checkpoint(*fence));
    ASSIGN_OR_RETURN(const auto batch, owner_.recorded_with(*fence));
    OrderEvent event{.kind = EventKind::kRefundBegun,
                     .at_ms = begun->at_ms,
                     .reason = begun->reason,
                     .actor = begun->actor};
    event.order.id = id;
    RETURN_IF_ERROR(note(event, batch));
  }
  return end_refund(id);
}

/// Gives the pieces of a refunded order back, and records that. Each step may be repeated: the
/// keyspace remembers the order until a rebuild, which counts it as the database does. Forgetting it
/// earlier would let a concurrent call give back once more. Giving back is refused if a rebuild began
/// since the order was read, and the end if one began since the step before.
absl::Status OrderChanges::end_refund(OrderId id) {
  constexpr int kTries = 10;
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
    const auto stored = stores_.orders.find(id);  // another call may have ended it
    if (!stored.ok()) return stored.status();
    if (!stored->has_value() || (*stored)->status != OrderStatus::kRefunding) break;
    const Order& order = **stored;
    ASSIGN_OR_RETURN(const auto keeps, give_back(order, state.epoch));
    if (!keeps.has_value()) {
      if (i < kTries) continue;
      return absl::AbortedError(concat("voucher ", order.voucher, " is rebuilt again and again"));
    }
    // Reveals a keyspace that loses the given-back pieces and no later write.
    auto fence = owner_.draw_fence(client_);
    if (absl::IsNotFound(fence.status())) return absl::AbortedError(fence.status().message());
    if (!fence.ok()) return fence.status();
    fence->epoch = state.epoch;
    fence->session = state.session;
    OrderEvent event{.kind = EventKind::kRefundEnded, .at_ms = now_ms()};
    event.order.id = order.id;
    set_keeps(*keeps, event.order);
    const auto result = store(event, *fence);
    if (absl::IsAborted(result.status()) && i < kTries) continue;
    return result.status();
  }
  return absl::OkStatus();
}

/// Returns keeps_of() of the order, which was read in this epoch or later. Empty: the voucher was
/// rebuilt in a later one. Rebuilds the voucher first if the keyspace lost it.
absl::StatusOr<std::optional<std::int64_t>> OrderChanges::give_back(const Order& order,
                                                                    std::int64_t epoch) {
  const VoucherId voucher = order.voucher;
  const lua::VoucherKeys names = scripts::keys_of(keys_, voucher);
  const std::string refunds = keys_.refunds(voucher);
  const auto shared = names.in_order();
  std::vector<std::string_view> keys(shared.begin(), shared.end());
  keys.push_back(refunds);
  const DecimalText id(order.id);
  const std::string user = order.user.text();
  const DecimalText quantity(order.quantity);
  const DecimalText admitted(order.admitted_at_ms);
  const DecimalText voucher_text(voucher);
  const DecimalText epoch_text(epoch);
  const std::string_view arguments[] = {id, user, quantity, admitted, voucher_text, epoch_text};
  for (const bool may_rebuild : {true, false}) {
    const Reply reply = client_.run(scripts::give_back(), keys, arguments);
    const auto outcome = outcome_in(reply);
    if (!outcome) return to_status(reply, concat("giving back order ", order.id));
    if (*outcome == scripts::kDone) {
      const std::vector<Reply>& parts = reply.elements();
      if (parts.size() != 3 || !parts[1].is_integer()) {
        return to_status(reply, concat("giving back order ", order.id));
      }
      if (parts[2] == Reply::integer(1)) {
        serve_waiting_list(client_, keys_, voucher).IgnoreError();  // as in cancel_holds()
      }
      return parts[1].integer();
    }
    if (*outcome == scripts::kOutdated) {
      RETURN_IF_ERROR(pass_epoch(voucher, reply));
      return std::nullopt;
    }
    if (!may_rebuild) break;
    RETURN_IF_ERROR(vouchers_.rebuild(order.voucher));
  }
  return absl::AbortedError(concat("voucher ", order.voucher, " is being rebuilt"));
}

/// Makes sure that the database has reached the epoch of a voucher's rebuild. An older copy of the
/// database has not: then the voucher is rebuilt.
absl::Status OrderChanges::pass_epoch(VoucherId voucher, const Reply& outdated) {
  const std::vector<Reply>& parts = outdated.elements();
  if (parts.size() != 2 || !parts[1].is_integer()) {
    return to_status(outdated, "reading the epoch of a rebuild");
  }
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  return state.epoch >= parts[1].integer() ? absl::OkStatus() : vouchers_.rebuild_holds(voucher);
}

absl::StatusOr<std::size_t> OrderChanges::finish_refunds() {
  if (stores_.orders.payments() == nullptr) return 0;
  std::vector<OrderId> begun;
  ASSIGN_OR_RETURN(const auto vouchers, stores_.orders.vouchers_with_orders());
  for (const VoucherId voucher : vouchers) {
    const OrderFilter filter{
        .voucher = voucher, .status = OrderStatus::kRefunding, .count_max = kOrdersPerRead};
    const absl::Status read = for_each_order(
        stores_.orders, filter, [&](const Order& order) { begun.push_back(order.id); });
    if (!read.ok()) return read;
  }
  for (const OrderId order : begun) {
    RETURN_IF_ERROR(finish_refund(order));
  }
  return begun.size();
}

absl::StatusOr<std::size_t> OrderChanges::refund_all(VoucherId voucher, const std::string& reason,
                                                     const std::string& actor) {
  std::size_t changed = 0;
  absl::Status failed;
  const auto change = [&](const Order& order) {
    if (!failed.ok()) return;
    ChangeResult result;
    switch (order.status) {
      case OrderStatus::kUnpaid:
        result = cancel(order.id, reason, actor);
        break;
      case OrderStatus::kCreated:
      case OrderStatus::kPaid:
      case OrderStatus::kUsed:
      case OrderStatus::kRefunding:
        result = refund(order.id, reason, actor);
        break;
      case OrderStatus::kCancelled:
      case OrderStatus::kRefunded:
        return;
    }
    if (result.outcome == ChangeOutcome::kDone) {
      changed += result.is_repeated ? 0 : 1;
    } else {
      failed =
          absl::UnavailableError(concat("refunding order ", order.id, ": ",
                                        change_outcome_name(result.outcome), ": ", result.detail));
    }
  };
  const absl::Status read =
      for_each_order(stores_.orders, {.voucher = voucher, .count_max = kOrdersPerRead}, change,
                     [&] { return failed; });
  if (!read.ok()) return read;
  if (!failed.ok()) return failed;
  return changed;
}

// ---- Losses ----

absl::Status OrderChanges::repeat(const OrderEvent& event) {
  RETURN_IF_ERROR(check_payments());
  const ChangeResult result = event.kind == EventKind::kCancelled
                                  ? cancel(event.order.id, event.reason, event.actor)
                                  : repeat_payment(event);
  switch (result.outcome) {
    case ChangeOutcome::kDone:
    case ChangeOutcome::kTooLate:
    case ChangeOutcome::kRefused:
    case ChangeOutcome::kUnknownOrder:
      return absl::OkStatus();
    default:
      return absl::UnavailableError(concat("repeating a change of order ", event.order.id, ": ",
                                           change_outcome_name(result.outcome), ": ",
                                           result.detail));
  }
}

ChangeResult OrderChanges::repeat_payment(const OrderEvent& event) {
  const PayRequest request{.order = event.order.id,
                           .payment = event.payment.id,
                           .amount_cents = event.payment.amount_cents};
  std::string reason = event.reason;
  if (event.kind == EventKind::kPaid) {
    ChangeResult paid = pay_all({&request, 1}).front();
    const bool is_without_order =
        paid.outcome == ChangeOutcome::kUnknownOrder || paid.outcome == ChangeOutcome::kRefused;
    if (!is_without_order) return paid;
    reason = "the keyspace lost its order";
  }
  auto recorded = find_recorded(request);
  if (!recorded.ok()) return failure(recorded.status());
  return recorded->has_value() ? **std::move(recorded)
                               : record_surplus(request, event.order, reason);
}

}  // namespace rushgate
