#include "engine/core/base/concat.h"
#include <rushgate/order.h>

namespace rushgate {

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

std::string_view order_event_name(OrderEvent::Kind kind) {
  using EventKind = OrderEvent::Kind;
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

std::string paid_by(std::string_view payment) { return concat("payment ", payment); }

std::optional<OrderChange> change_before(const OrderEvent& admitted) {
  if (admitted.order.status != OrderStatus::kCancelled) return std::nullopt;
  return OrderChange{.order = admitted.order.id,
                     .from = OrderStatus::kUnpaid,
                     .to = OrderStatus::kCancelled,
                     .at_ms = admitted.at_ms,
                     .reason = admitted.reason,
                     .actor = admitted.actor};
}

std::string_view order_location_name(OrderLocation location) {
  switch (location) {
    case OrderLocation::kUnknown:
      return "unknown";
    case OrderLocation::kQueued:
      return "queued";
    case OrderLocation::kStored:
      return "stored";
    case OrderLocation::kDeadLetter:
      return "dead letter";
  }
  return "?";
}

}  // namespace rushgate
