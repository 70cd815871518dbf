// The rules by which every order database decides on orders, on their events and on the versions of
// vouchers. For implementations of OrderStore, VoucherStore and PaymentStore: with these functions
// they have the same results, errors and reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <rushgate/order.h>
#include <rushgate/order_status.h>
#include <rushgate/user_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The result of writing one order.
struct OrderResult {
  enum class Kind : std::uint8_t {
    kStored,         // by this call
    kAlreadyStored,  // before, under the same id: a redelivery
    kRefused,   // it can never be stored: it breaks a limit, or its id belongs to another order
    kTooEarly,  // to be written again later: an event of an order that is not stored yet, or an
                // order that lacks only pieces whose refund has begun
  };

  Kind kind = Kind::kStored;
  std::string reason = {};    // why it was refused
  bool lacks_pieces = false;  // kRefused: it may be stored once a cancellation gave pieces back
  bool lacks_stock = false;   // then: pieces of the voucher, not of the user's limit
};

/// Returns "stored", "already stored", "refused" or "too early".
std::string_view order_result_name(OrderResult::Kind kind);

// ---- Lanes (docs/cluster.md) ----

/// The counters of a lane's order ids, of each day: no two lanes have an id in common.
struct LaneCounters {
  std::int64_t first = 0;  // 0 for the lane 0, whose first id has the counter 1
  std::int64_t last = 0;
};
/// Returns them. The lane 0 has half of all counters, as it may have been the only one for a while. The
/// others have 33,554,432 each.
LaneCounters counters_of_lane(int lane);
/// Returns the lane of an order. An order that another system made, or one of a sale without lanes, is on
/// the lane 0.
int lane_of_order(OrderId order);
/// Returns the lane on which a voucher is published first if the sale has so many lanes.
int first_lane(VoucherId voucher, int lanes);
/// Returns the lane on which a user buys a voucher that is on so many lanes. It never changes: the user's
/// orders, limits and idempotency keys are there.
int lane_of_user(const UserId& user, int lanes);
/// Returns how many pieces of a voucher may be sold: its stock, or its total limit if that is lower.
std::int64_t pieces_for_sale(const Voucher& voucher);
/// Returns a version as a lane's keyspace has it: of a voucher on several lanes, with this lane's share of
/// the pieces for sale as its stock, without a total limit, and with its share of the waiting users. `versions` are
/// those of the voucher, in any order; later ones do not matter.
///
/// The shares of all its lanes are the pieces for sale. Every lane has an equal part of the most that there were
/// until then. Fewer are taken from the lane 0 alone, whose share may become negative: pieces move there first. So
/// one script decides whether so many are free.
VoucherVersion on_lane(VoucherVersion version, int lane, std::span<const VoucherVersion> versions);

// ---- Orders ----

/// The contents of a database as far as they decide on one order, earlier orders of its batch
/// included. A piece whose order is in OrderStatus::kRefunding may be given back already, and sold
/// again: the keyspace does that before the database records it.
///
/// A store may leave out what does not matter: everything else if there is a same_id. Orders are
/// delivered again in thousands after a restore, and each would read all orders of its user.
struct OrderRivals {
  std::optional<Order> same_id = {};       // the order that is stored under the same id
  std::int64_t live_of_user = 0;           // pieces that count against its limit, if is_limited()
  std::int64_t refunding_of_user = 0;      // of these: in OrderStatus::kRefunding
  std::int64_t taken_of_voucher = 0;       // pieces that orders take from its voucher's stock
  std::int64_t refunding_of_voucher = 0;   // of these: in kRefunding; matters if pieces are lacking
  std::optional<std::int64_t> stock = {};  // of its voucher; empty: never published
  std::optional<Order> same_key = {};      // an order, perhaps archived, with which it shares_key()

  /// Counts the pieces of `other` if they count against the limit per user of `order`.
  void add_of_user(const Order& other, const Order& order);
};
/// Returns true if two orders were admitted under one idempotency key, while it was the other's. No
/// order shares it with itself, or with one of another lane.
bool shares_key(const Order& a, const Order& b);
/// Returns true if the other orders of its user matter for a new order.
inline bool is_limited(const Order& order) { return is_live(order) && order.limit > 0; }
/// Returns true if an order may exceed its limit, when the live orders of its user and voucher have
/// so many pieces. Only then it matters which of them count, and a store has to read each of them.
inline bool may_exceed_limit(const Order& order, std::int64_t live_of_user) {
  return is_limited(order) && order.quantity > 0 && live_of_user > order.limit - order.quantity;
}
/// Returns true if the pieces of `other` count against the limit per user of `order`: it is a live
/// order of the same user and voucher. An order that was admitted later under a higher limit does
/// not count. The limit was raised between the two, and several workers may write them in the wrong
/// order.
bool counts_against(const Order& other, const Order& order);
/// Decides on an order of a batch: kStored means that write() must insert it. Refuses these orders:
/// - one without a positive id, with the id of another order, or with a quantity that is not from 1
///   to Order::kQuantityMax;
/// - one whose idempotency key belongs to another order, of any voucher, also of an archived one;
/// - a live order whose user would have more than `limit` pieces of the voucher;
/// - a live order of a voucher that was never published, or has too few pieces left.
/// kTooEarly: it lacks only pieces that are being refunded. A refusal is final, so it must not
/// depend on a refund that has begun and not ended.
OrderResult check_order(const Order& order, const OrderRivals& rivals);

// ---- Events ----

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
/// Decides on an event. Results:
/// - kTooEarly: the order is not stored.
/// - kAlreadyStored: it was applied before. A cancellation, a refund and a payment stay applied
///   through all later changes.
/// - kRefused: the order's state does not allow it, or the payment belongs to another order or has
///   no valid id.
/// A payment is never refused for the order's state: one that pays nothing becomes due.
EventDecision check_event(const OrderEvent& event, const EventContext& context);
/// Gives `order` the state that check_event() decided on. An order that ends keeps what the event says.
/// Returns the change to be recorded.
OrderChange change_status(Order& order, OrderStatus status, const OrderEvent& event);

// ---- Versions of vouchers ----

/// Returns the error of record_pending() for a version that is not one above `highest`; OK if it
/// is.
absl::Status check_next_version(const VoucherVersion& version, std::int64_t highest);
/// Returns the error of resolve() for a version that is in `state` (none: it does not exist). OK if
/// it is pending, or has the new state already.
absl::Status check_resolution(VoucherId voucher, std::int64_t version,
                              std::optional<VoucherVersion::State> state,
                              VoucherVersion::State new_state);
/// Returns the version in force: of the applied ones, that with the highest number. `versions` are
/// those of one voucher, in ascending order.
std::optional<VoucherVersion> version_in_force(const std::vector<VoucherVersion>& versions);
/// Returns the stock that OrderStore::write() compares with: the greatest of the version in force
/// and of the pending ones. Empty if a voucher with these versions was never published.
std::optional<std::int64_t> stock_of(const std::vector<VoucherVersion>& versions);

}  // namespace rushgate
