// The port for payments: keeps them, and the changes of orders, in the database of the orders. The
// keyspace decides most changes, and this records them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

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

/// Selects payments. All conditions that are set must hold.
struct PaymentFilter {
  std::optional<OrderId> order = {};
  std::optional<Payment::State> state = {};
  std::string after = {};  // only ids above it, as bytes
  std::size_t count_max = 1'000;
};

/// Keeps payments and the changes of orders. Thread-safe. Errors, durability and atomicity are
/// those of OrderStore.
class PaymentStore {
 public:
  virtual ~PaymentStore() = default;

  /// Applies events in this order, and raises the checkpoint to the fence's, in one transaction.
  /// Returns a result for each event; check_order() and check_event() decide. Records a change for
  /// each order whose state changes, and change_before() for each new one. kAborted if the
  /// database's epoch is not the fence's.
  virtual absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                         const BatchFence& fence) = 0;
  /// Returns the payment with this id; empty if there is none.
  virtual absl::StatusOr<std::optional<Payment>> find_payment(std::string_view id) = 0;
  /// Returns the payments that `filter` selects, in ascending order of ids (as bytes), at most
  /// filter.count_max.
  virtual absl::StatusOr<std::vector<Payment>> list_payments(const PaymentFilter& filter) = 0;
  /// Returns the changes above the position `after`, of one order or of all, in ascending order, at
  /// most `count_max`. Also those of archived orders, until these are deleted.
  virtual absl::StatusOr<std::vector<OrderChange>> changes(std::int64_t after,
                                                           std::size_t count_max,
                                                           std::optional<OrderId> order) = 0;
  /// Returns the greatest position of a change; 0 if there is none.
  virtual absl::StatusOr<std::int64_t> last_position() = 0;
};

/// Visits every payment that `filter` selects, in portions of filter.count_max.
absl::Status for_each_payment(PaymentStore& store, PaymentFilter filter,
                              absl::FunctionRef<void(const Payment&)> visit);

// ---- For implementations: the same rules, errors and reasons everywhere ----

/// The contents of a database as far as they decide on one event, earlier events of its batch
/// included.
struct EventContext {
  std::optional<Order> order = {};      // the event's order; for kPaymentRefunded its payment's
  std::optional<Payment> payment = {};  // the payment with the event's payment id
};

/// The effect of an event that is not kAdmitted.
struct EventDecision {
  OrderResult result = {};                 // kStored: carry out the rest; otherwise change nothing
  std::optional<OrderStatus> status = {};  // the order's new state: to be recorded as a change
  std::optional<Payment> payment = {};     // to be inserted, or to replace the one of this id
  bool are_payments_due = false;           // its kept payments become due, for the event's reason
};
/// Returns the reason of the change to kPaid. It names the payment, so the history is a second record
/// of it.
std::string paid_by(std::string_view payment);
/// Decides on an event. Results:
/// - kTooEarly: the order is not stored.
/// - kAlreadyStored: it was applied before. A cancellation, a refund and a payment stay applied
///   through all later changes.
/// - kRefused: the order's state does not allow it, or the payment belongs to another order or has
///   no valid id.
/// A payment is never refused for the order's state: one that pays nothing becomes due.
EventDecision check_event(const OrderEvent& event, const EventContext& context);
/// Returns true for the kinds of event that the keyspace decides on. Such an event may come again for
/// an archived order, from a keyspace that was rolled back.
constexpr bool is_of_keyspace(OrderEvent::Kind kind) {
  return kind == OrderEvent::Kind::kPaid || kind == OrderEvent::Kind::kSurplusPayment ||
         kind == OrderEvent::Kind::kCancelled;
}
/// Returns the change of a new order that was made while it was queued: its cancellation. Empty if
/// there was none. `admitted` is a kAdmitted event.
std::optional<OrderChange> change_before(const OrderEvent& admitted);

}  // namespace rushgate
