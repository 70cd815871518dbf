#include "engine/sale/worker/batch.h"

#include "engine/core/base/concat.h"

namespace rushgate {

absl::StatusOr<OrderEvent> read_storable(const OrderEntry& entry, OrderStore& orders) {
  if (entry.deleted) return absl::NotFoundError("the entry was deleted from the stream");
  auto event = read_event(entry);
  if (event.ok() && event->kind != OrderEvent::Kind::kAdmitted && orders.payments() == nullptr) {
    return absl::FailedPreconditionError("the order store keeps no payments");
  }
  if (event.ok() && !event->order.user.is_number() && !orders.takes_user_names()) {
    return absl::FailedPreconditionError(concat(
        "the order store takes numbers as user ids, no names: \"", event->order.user.name(), "\""));
  }
  return event;
}

}  // namespace rushgate
