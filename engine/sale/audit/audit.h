// Checks that a sale oversold, doubled or lost nothing. The audit can fail, and then names each
// problem.
#pragma once

#include "absl/status/statusor.h"
#include <rushgate/audit_report.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// As Sale::audit().
absl::StatusOr<AuditReport> audit(Client& client, const SaleStores& stores, const SaleKeys& keys,
                                  const OnAuditProgress& on_progress = {});

}  // namespace rushgate
