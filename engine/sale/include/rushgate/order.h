// An order, its payments, and what happens to it: the values that the sale, its worker and its
// stores share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/order_status.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// An order as the database keeps it. Times are ms since 1970 UTC.
struct Order {
  OrderId id = 0;
  UserId user = {};
  VoucherId voucher = 0;
  OrderStatus status = OrderStatus::kCreated;
  std::int64_t limit =
      1;  // pieces per user that the sale allowed when it was admitted; 0: any number
  std::int64_t admitted_at_ms = 0;
  StreamId entry = {};  // its first entry in the order stream
  /// When a worker wrote it to the database. 0 if it is not there, or was written before this was
  /// kept.
  std::int64_t created_at_ms = 0;
  /// Of the voucher, at admission. 0 if another system or an older version of Rushgate admitted it.
  std::int64_t version = 0;
  std::int64_t price_cents = 0;  // of one piece, at admission
  std::int64_t quantity = 1;     // pieces, at least 1
  std::int64_t due_at_ms = 0;    // when its payment is due; 0: it demands none
  std::string reference = {};    // the caller's, at most kReferenceBytesMax
  /// Of the request that bought it (BuyRequest::idempotency_key), at most kIdempotencyKeyBytesMax;
  /// empty: it had none.
  std::string idempotency_key = {};
  std::int64_t key_expires_at_ms = 0;  // until then the key is this order's; 0: it has no key
  // Once it is cancelled or refunded:
  bool keeps_stock = false;      // its pieces were not given back to the stock
  bool keeps_allowance = false;  // they still count against its user's limits

  static constexpr std::size_t kReferenceBytesMax = 64;
  static constexpr std::size_t kIdempotencyKeyBytesMax = 255;
  static constexpr std::int64_t kQuantityMax = 10'000;

  friend bool operator==(const Order&, const Order&) = default;
};

inline bool is_live(const Order& order) { return is_live(order.status); }
/// Returns the pieces that the order takes from the stock of its voucher.
inline std::int64_t pieces_taken(const Order& order) {
  return is_live(order) || order.keeps_stock ? order.quantity : 0;
}
/// Returns the pieces that count against the limits of its user.
inline std::int64_t pieces_of_user(const Order& order) {
  return is_live(order) || order.keeps_allowance ? order.quantity : 0;
}
/// Returns the amount that a payment of the order must have.
inline std::int64_t amount_of(const Order& order) { return order.price_cents * order.quantity; }

/// Returns true if the order has an idempotency key that is still its own at `time_ms`.
inline bool has_key_at(const Order& order, std::int64_t time_ms) {
  return !order.idempotency_key.empty() && order.key_expires_at_ms >= time_ms;
}

// ---- Where an order is ----

/// Where an accepted order is. Not its status, which it has in the database.
enum class OrderLocation : std::uint8_t {
  kUnknown,     // nowhere: no such order was accepted
  kQueued,      // in the order stream, not yet stored
  kStored,      // in the database
  kDeadLetter,  // among the dead letters
};
/// Returns "unknown", "queued", "stored" or "dead letter".
std::string_view order_location_name(OrderLocation location);

/// The state of an order.
struct OrderState {
  OrderLocation location = OrderLocation::kUnknown;
  std::optional<Order> order = {};  // set if stored; from orders_of() always
  std::string reason = {};          // of a dead letter
};

// ---- Payments and changes ----

/// A payment that was received for an order. Times are ms since 1970 UTC.
struct Payment {
  /// (Durable numbers.)
  enum class State : std::uint8_t {
    kKept = 1,      // it pays its order
    kDue = 2,       // it has to be refunded, for `reason`
    kRefunded = 3,  // it was refunded
  };

  std::string id;  // the payment provider's; 1 to kIdBytesMax bytes, unique in the database
  OrderId order = 0;
  std::int64_t amount_cents = 0;
  State state = State::kKept;
  std::int64_t received_at_ms = 0;
  std::int64_t refunded_at_ms = 0;  // 0: it was not
  std::string reason = {};          // why it is due, or was

  static constexpr std::size_t kIdBytesMax = 64;
  /// The most that an order may cost: the greatest price, times the greatest quantity.
  static constexpr std::int64_t kAmountCentsMax = 1'000'000'000'000'000;

  friend bool operator==(const Payment&, const Payment&) = default;
};
/// Returns "kept", "due" or "refunded".
std::string_view payment_state_name(Payment::State state);

/// Something that happens to an order. An event of the order stream is applied at least once, in
/// the order of the stream; applying it again changes nothing.
struct OrderEvent {
  enum class Kind : std::uint8_t {
    kAdmitted,         // `order`, all of it; if cancelled: while it was queued, for `reason`
    kPaid,             // unpaid -> paid, by `payment`
    kSurplusPayment,   // `payment` is not needed, for `reason`: it is due back
    kCancelled,        // unpaid -> cancelled, for `reason`
    kUsed,             // created or paid -> used
    kRefundBegun,      // created, paid or used -> refunding, for `reason`; its payments are due
    kRefundEnded,      // refunding -> refunded: its pieces are given back
    kPaymentRefunded,  // `payment` is refunded; only its id counts
  };

  Kind kind = Kind::kAdmitted;
  /// The order. Except for kAdmitted, only its id counts, and for kCancelled and kRefundEnded
  /// keeps_stock and keeps_allowance. `entry` is the event's own.
  Order order = {};
  Payment payment = {};
  std::int64_t at_ms = 0;
  std::string reason = {};
  std::string actor = {};  // the author of the change, as in "user", "timeout", "operator anna"
};
/// Returns true for the changes that begin in the database. An entry of the order stream has such a change only
/// so that a database that loses it gets it again.
constexpr bool begins_in_database(OrderEvent::Kind kind) {
  using Kind = OrderEvent::Kind;
  return kind == Kind::kUsed || kind == Kind::kRefundBegun || kind == Kind::kRefundEnded ||
         kind == Kind::kPaymentRefunded;
}
/// Returns "admitted", "paid", "surplus payment", "cancelled", "used", "refund begun", "refund
/// ended" or "payment refunded".
std::string_view order_event_name(OrderEvent::Kind kind);

/// A change of an order's state. An order's first state is not a change.
struct OrderChange {
  std::int64_t position = 0;  // ascending in the order in which changes were recorded; from 1
  OrderId order = 0;
  OrderStatus from = OrderStatus::kCreated;
  OrderStatus to = OrderStatus::kCreated;
  std::int64_t at_ms = 0;  // since 1970 UTC
  std::string reason = {};
  std::string actor = {};

  friend bool operator==(const OrderChange&, const OrderChange&) = default;
};

/// Returns the reason of the change to kPaid. It names the payment, so the history is a second
/// record of it.
std::string paid_by(std::string_view payment);

/// Returns true for the kinds of event that the keyspace decides on. Such an event may come again
/// for an archived order, from a keyspace that was rolled back.
constexpr bool is_of_keyspace(OrderEvent::Kind kind) {
  return kind == OrderEvent::Kind::kPaid || kind == OrderEvent::Kind::kSurplusPayment ||
         kind == OrderEvent::Kind::kCancelled;
}

/// Returns the change of a new order that was made while it was queued: its cancellation. Empty if
/// there was none. `admitted` is a kAdmitted event.
std::optional<OrderChange> change_before(const OrderEvent& admitted);

}  // namespace rushgate
