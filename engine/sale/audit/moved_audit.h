// Audits what the lanes of a voucher gave to each other.
#pragma once

#include <span>

#include "absl/status/status.h"
#include <rushgate/audit_report.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// Compares each number of moved pieces in its three places: what a lane has got is recorded, and what is
/// recorded was given; and each lane's balance with its numbers. With these, and with each lane's own audit,
/// the lanes have the published stock between them, less what is on its way, which is a warning. Names
/// vouchers on more lanes than these.
absl::Status audit_moved_pieces(Client& client, std::span<const SaleLane> lanes,
                                AuditReport& report);

}  // namespace rushgate
