#include "engine/base/concat.h"
#include <rushgate/archive_store.h>

namespace rushgate {

absl::Status check_archivable(VoucherId voucher, bool has_pending_version, bool is_in_force) {
  if (has_pending_version) {
    return absl::FailedPreconditionError(
        concat("voucher ", voucher, " has a version that is not in force yet"));
  }
  if (is_in_force) return absl::OkStatus();
  return absl::NotFoundError(concat("voucher ", voucher, " was never on sale"));
}

absl::Status not_archived(VoucherId voucher) {
  return absl::FailedPreconditionError(concat("voucher ", voucher, " is not archived"));
}

absl::Status has_unmoved_orders(VoucherId voucher) {
  return absl::FailedPreconditionError(
      concat("voucher ", voucher, " has orders that are not archived: archive it again"));
}

absl::Status was_archived(VoucherId voucher) {
  return absl::FailedPreconditionError(
      concat("voucher ", voucher, " was archived: its id cannot be published again"));
}

}  // namespace rushgate
