#include <string>

#include "engine/core/base/concat.h"
#include <rushgate/archive_store.h>

namespace rushgate {

absl::Status check_archivable(VoucherId voucher, std::int64_t at_ms,
                              const ArchiveContext& context) {
  const auto not_yet = [voucher](const std::string& why) {
    return absl::FailedPreconditionError(concat("voucher ", voucher, " cannot be archived: ", why));
  };
  if (context.has_pending_version) return not_yet("it has a version that is not in force yet");
  if (!context.end_ms) {
    return absl::NotFoundError(concat("voucher ", voucher, " was never on sale"));
  }
  if (at_ms < *context.end_ms) return not_yet("its sale has not ended");
  if (!context.open_order) return absl::OkStatus();
  return not_yet(concat("order ", context.open_order->id, " is ",
                        order_status_name(context.open_order->status)));
}

absl::Status not_archived_error(VoucherId voucher) {
  return absl::FailedPreconditionError(concat("voucher ", voucher, " is not archived"));
}

absl::Status unmoved_orders_error(VoucherId voucher) {
  return absl::FailedPreconditionError(
      concat("voucher ", voucher, " has orders that are not archived: archive it again"));
}

absl::Status archived_error(VoucherId voucher) {
  return absl::FailedPreconditionError(
      concat("voucher ", voucher, " was archived: its id cannot be published again"));
}

}  // namespace rushgate
