// The states of an order: one table of what each means. The rules of the stores and of the audit,
// the conditions in SQL and the names are derived from it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace rushgate {

/// docs/orders.md draws the transitions. (Durable numbers.)
enum class OrderStatus : std::uint8_t {
  kCreated = 1,  // confirmed: its voucher demands no payment
  kUnpaid = 2,   // holds its pieces until Order::due_at_ms
  kPaid = 3,
  kUsed = 4,       // redeemed
  kRefunding = 5,  // its payments are due back, and its pieces will be given back
  kCancelled = 6,  // ended unpaid: by the user, by an operator or by the timeout
  kRefunded = 7,   // ended after a payment: its pieces are given back
};

/// A set of states. A value type.
class OrderStatusSet {
 public:
  constexpr OrderStatusSet(std::initializer_list<OrderStatus> states) {
    for (const OrderStatus status : states) bits_ |= bit_of(status);
  }
  [[nodiscard]] constexpr bool contains(OrderStatus status) const {
    return (bits_ & bit_of(status)) != 0;
  }

 private:
  /// Returns 0 for a number that can be no state.
  static constexpr std::uint32_t bit_of(OrderStatus status) {
    const auto number = static_cast<unsigned>(status);
    return number < 32 ? std::uint32_t{1} << number : 0;
  }

  std::uint32_t bits_ = 0;
};

/// What a state means.
struct OrderStatusTraits {
  std::string_view name;
  bool is_first = false;     // an order may begin in it
  bool is_live = false;      // neither cancelled nor refunded: its pieces are taken
  bool is_settled = false;   // if it demands a payment, it keeps one
  bool is_refund = false;    // its refund was begun
  OrderStatusSet next = {};  // the states that may follow
};

/// The table. A new state needs a row here and a place in kOrderStatuses, as the compiler says.
constexpr OrderStatusTraits order_status_traits(OrderStatus status) {
  using enum OrderStatus;
  switch (status) {
    case kCreated:
      return {.name = "created", .is_first = true, .is_live = true, .next = {kUsed, kRefunding}};
    case kUnpaid:
      return {.name = "unpaid", .is_first = true, .is_live = true, .next = {kPaid, kCancelled}};
    case kPaid:
      return {.name = "paid", .is_live = true, .is_settled = true, .next = {kUsed, kRefunding}};
    case kUsed:
      return {.name = "used", .is_live = true, .is_settled = true, .next = {kRefunding}};
    case kRefunding:
      return {.name = "refunding", .is_live = true, .is_refund = true, .next = {kRefunded}};
    case kCancelled:
      return {.name = "cancelled"};
    case kRefunded:
      return {.name = "refunded", .is_refund = true};
  }
  return {};  // no state
}

/// All states, in the order of their numbers.
inline constexpr std::array kOrderStatuses = {
    OrderStatus::kCreated,   OrderStatus::kUnpaid,    OrderStatus::kPaid,    OrderStatus::kUsed,
    OrderStatus::kRefunding, OrderStatus::kCancelled, OrderStatus::kRefunded};

/// Returns false for a number that is no state, as a damaged database may have.
constexpr bool is_order_status(OrderStatus status) {
  return !order_status_traits(status).name.empty();
}
static_assert(std::ranges::all_of(kOrderStatuses, is_order_status) &&
                  !is_order_status(OrderStatus{kOrderStatuses.size() + 1}),
              "kOrderStatuses has all states, whose numbers begin with 1");

/// Returns "created", "unpaid", "paid", "used", "refunding", "cancelled" or "refunded".
constexpr std::string_view order_status_name(OrderStatus status) {
  return is_order_status(status) ? order_status_traits(status).name : "?";
}
/// Returns the status of this name; empty if there is none.
constexpr std::optional<OrderStatus> find_order_status(std::string_view name) {
  const auto* const found = std::ranges::find(kOrderStatuses, name, order_status_name);
  return found == kOrderStatuses.end() ? std::nullopt : std::optional(*found);
}

constexpr bool is_live(OrderStatus status) { return order_status_traits(status).is_live; }
constexpr bool is_refund(OrderStatus status) { return order_status_traits(status).is_refund; }
constexpr bool is_settled(OrderStatus status) { return order_status_traits(status).is_settled; }
/// Returns true if an event may change an order from the state `from` to `to`.
constexpr bool may_become(OrderStatus from, OrderStatus to) {
  return order_status_traits(from).next.contains(to);
}

}  // namespace rushgate
