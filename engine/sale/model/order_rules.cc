#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/escaping.h"
#include "engine/core/base/concat.h"
#include <rushgate/order_rules.h>
#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

using EventKind = OrderEvent::Kind;

/// Returns true if `again` is the stored order, whose status may have changed since.
bool is_redelivery(const Order& stored, const Order& again) {
  return again.id == stored.id && again.user == stored.user && again.voucher == stored.voucher &&
         again.limit == stored.limit && again.entry == stored.entry &&
         again.quantity == stored.quantity && again.price_cents == stored.price_cents;
}

/// Returns the result for an order that lacks pieces, of which some are being refunded.
OrderResult lacks_pieces(std::string why, std::int64_t lacking, std::int64_t refunding) {
  if (refunding < lacking) {
    return {.kind = OrderResult::Kind::kRefused, .reason = std::move(why), .lacks_pieces = true};
  }
  why += concat(", and ", refunding, " of them are being refunded");
  return {OrderResult::Kind::kTooEarly, std::move(why)};
}

/// The counters of order ids. The first half is of the lane 0, which also has its share of the second.
constexpr int kCounterBits = 32;
constexpr int kLaneBits = 25;
constexpr std::int64_t kFirstLaned = std::int64_t{1} << (kCounterBits - 1);
static_assert((std::int64_t{kLanesMax} << kLaneBits) == kFirstLaned);

// ---- Events ----

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

EventDecision decide_on(const OrderEvent& event, const EventContext& context) {
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
      // The order stream has what was done, before it was refunded.
      if (is_refund(status) && event.order.entry != StreamId()) return already_stored();
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

// ---- Versions of vouchers ----

std::string name_of(VoucherId voucher, std::int64_t version) {
  return concat("version ", version, " of voucher ", voucher);
}

}  // namespace

std::string_view order_result_name(OrderResult::Kind kind) {
  switch (kind) {
    case OrderResult::Kind::kStored:
      return "stored";
    case OrderResult::Kind::kAlreadyStored:
      return "already stored";
    case OrderResult::Kind::kRefused:
      return "refused";
    case OrderResult::Kind::kTooEarly:
      return "too early";
  }
  return "?";
}

// ---- Lanes ----

LaneCounters counters_of_lane(int lane) {
  assert(lane >= 0 && lane < kLanesMax);
  const std::int64_t first = kFirstLaned + (std::int64_t{lane} << kLaneBits);
  return {.first = lane == 0 ? 0 : first, .last = first + (std::int64_t{1} << kLaneBits) - 1};
}

int lane_of_order(OrderId order) {
  const std::int64_t counter = order & ((std::int64_t{1} << kCounterBits) - 1);
  return counter < kFirstLaned ? 0 : static_cast<int>((counter - kFirstLaned) >> kLaneBits);
}

int first_lane(VoucherId voucher, int lanes) {
  assert(lanes > 0);
  return static_cast<int>(static_cast<std::uint64_t>(voucher) % static_cast<std::uint64_t>(lanes));
}

int lane_of_user(const UserId& user, int lanes) {
  assert(lanes > 0);
  // FNV-1a, and then MurmurHash3's last step, after which each bit depends on each byte.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : user.text()) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccdU;
  hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return static_cast<int>((hash ^ (hash >> 33U)) % static_cast<std::uint64_t>(lanes));
}

std::int64_t pieces_for_sale(const Voucher& voucher) {
  const std::int64_t total = voucher.limits.total;
  return total > 0 ? std::min(total, voucher.stock) : voucher.stock;
}

VoucherVersion on_lane(VoucherVersion version, int lane, std::span<const VoucherVersion> versions) {
  const std::int64_t lanes = version.voucher.lanes;
  if (lanes <= 1) return version;
  const auto share = [&](std::int64_t number) {
    return number / lanes + (lane < number % lanes ? 1 : 0);
  };
  const std::int64_t for_sale = pieces_for_sale(version.voucher);
  std::int64_t greatest = for_sale;
  for (const VoucherVersion& other : versions) {
    const bool counts =
        other.version < version.version && other.state != VoucherVersion::State::kRefused;
    if (counts) greatest = std::max(greatest, pieces_for_sale(other.voucher));
  }
  version.voucher.stock = share(greatest) - (lane == 0 ? greatest - for_sale : 0);
  version.voucher.limits.total = 0;
  version.voucher.waiting_max = share(version.voucher.waiting_max);
  return version;
}

// ---- Orders ----

bool counts_against(const Order& other, const Order& order) {
  const bool is_rival =
      is_live(other) && other.user == order.user && other.voucher == order.voucher;
  if (!is_rival || other.entry <= order.entry || order.limit == 0) return is_rival;
  return other.limit != 0 && other.limit <= order.limit;
}

// The keyspace forgets a key after its last millisecond.
bool shares_key(const Order& a, const Order& b) {
  return !a.idempotency_key.empty() && a.idempotency_key == b.idempotency_key && a.id != b.id &&
         a.admitted_at_ms <= b.key_expires_at_ms && b.admitted_at_ms <= a.key_expires_at_ms &&
         lane_of_order(a.id) == lane_of_order(b.id);
}

void OrderRivals::add_of_user(const Order& other, const Order& order) {
  if (!counts_against(other, order)) return;
  live_of_user += other.quantity;
  if (other.status == OrderStatus::kRefunding) refunding_of_user += other.quantity;
}

OrderResult check_order(const Order& order, const OrderRivals& rivals) {
  const auto refused = [](std::string reason) {
    return OrderResult{OrderResult::Kind::kRefused, std::move(reason)};
  };
  if (order.id <= 0) return refused(concat("its id is not positive: ", order.id));
  if (order.limit < 0) return refused(concat("its limit is negative: ", order.limit));
  if (order.quantity <= 0 || order.quantity > Order::kQuantityMax) {
    return refused(
        concat("its quantity is not from 1 to ", Order::kQuantityMax, ": ", order.quantity));
  }
  if (const auto& other = rivals.same_id) {
    if (is_redelivery(*other, order)) return {OrderResult::Kind::kAlreadyStored, {}};
    return refused(concat("id ", order.id, " belongs to another order, of user ",
                          other->user.text(), " and voucher ", other->voucher));
  }
  if (rivals.same_key) {
    return refused(concat("its idempotency key \"", absl::CEscape(order.idempotency_key),
                          "\" belongs to order ", rivals.same_key->id));
  }
  if (!is_live(order)) return {};
  if (!rivals.stock) {
    return refused(concat("voucher ", order.voucher, " was never published here"));
  }
  // The quantity is subtracted: a sum might overflow.
  const std::int64_t room = *rivals.stock - order.quantity;
  if (rivals.taken_of_voucher > room) {
    OrderResult result =
        lacks_pieces(concat("voucher ", order.voucher, " has ", rivals.taken_of_voucher,
                            " pieces taken of a stock of ", *rivals.stock),
                     rivals.taken_of_voucher - room, rivals.refunding_of_voucher);
    result.lacks_stock = result.lacks_pieces;
    return result;
  }
  const std::int64_t allowed = order.limit - order.quantity;
  if (order.limit != 0 && rivals.live_of_user > allowed) {
    return lacks_pieces(
        concat("user ", order.user.text(), " has ", rivals.live_of_user, " pieces of voucher ",
               order.voucher, " already, of a limit of ", order.limit),
        rivals.live_of_user - allowed, rivals.refunding_of_user);
  }
  return {};
}

// ---- Events ----

EventDecision check_event(const OrderEvent& event, const EventContext& context) {
  EventDecision decision = decide_on(event, context);
  [[maybe_unused]] const bool is_stored = decision.result.kind == OrderResult::Kind::kStored;
  [[maybe_unused]] const bool keeps_payment =
      decision.payment && decision.payment->state == Payment::State::kKept;
  assert(is_stored || (!decision.status && !decision.payment && !decision.are_payments_due));
  assert(!decision.status || may_become(context.order->status, *decision.status));
  assert(!decision.payment || context.order || context.payment);  // a payment has an order
  assert(keeps_payment == (decision.status == OrderStatus::kPaid));
  return decision;
}

OrderChange change_status(Order& order, OrderStatus status, const OrderEvent& event) {
  OrderChange change{.order = order.id,
                     .from = order.status,
                     .to = status,
                     .at_ms = event.at_ms,
                     .reason = event.reason,
                     .actor = event.actor};
  order.status = status;
  if (!is_live(order)) {
    order.keeps_stock = event.order.keeps_stock;
    order.keeps_allowance = event.order.keeps_allowance;
  }
  return change;
}

// ---- Versions of vouchers ----

absl::Status check_next_version(const VoucherVersion& version, std::int64_t highest) {
  if (version.version == highest + 1) return absl::OkStatus();
  return absl::FailedPreconditionError(concat(name_of(version.voucher.id, version.version),
                                              " cannot be recorded: its highest version is ",
                                              highest));
}

absl::Status check_resolution(VoucherId voucher, std::int64_t version,
                              std::optional<VoucherVersion::State> state,
                              VoucherVersion::State new_state) {
  const std::string name = name_of(voucher, version);
  using State = VoucherVersion::State;
  if (new_state == State::kPending) {
    return absl::InvalidArgumentError(concat(name, " cannot become pending"));
  }
  if (!state) return absl::NotFoundError(concat(name, " does not exist"));
  if (*state == State::kPending || *state == new_state) return absl::OkStatus();
  return absl::FailedPreconditionError(name + " was " + std::string(version_state_name(*state)) +
                                       " before");
}

std::optional<VoucherVersion> version_in_force(const std::vector<VoucherVersion>& versions) {
  const auto found =
      std::find_if(versions.rbegin(), versions.rend(), [](const VoucherVersion& version) {
        return version.state == VoucherVersion::State::kApplied;
      });
  if (found == versions.rend()) return std::nullopt;
  return *found;
}

std::optional<std::int64_t> stock_of(const std::vector<VoucherVersion>& versions) {
  std::optional<std::int64_t> most;
  if (const auto in_force = version_in_force(versions)) most = in_force->voucher.stock;
  for (const VoucherVersion& version : versions) {
    if (version.state != VoucherVersion::State::kPending) continue;
    most = std::max(most.value_or(version.voucher.stock), version.voucher.stock);
  }
  return most;
}

}  // namespace rushgate
