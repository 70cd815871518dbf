// Checks that a sale oversold, doubled or lost nothing. The audit can fail, and then names each
// problem.
#pragma once

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/audit_report.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Lets `client` read the keyspace as it is now, if it reads a copy of one moment.
using RefreshKeyspace = std::function<absl::Status()>;

/// As Sale::audit(): audits each of the lanes, and what the database has for itself once. `stores` are
/// those of all lanes. `refresh` may be empty: `client` reads the keyspace itself.
absl::StatusOr<AuditReport> audit_lanes(Client& client, const SaleStores& stores,
                                        std::span<const SaleLane> lanes,
                                        const OnAuditProgress& on_progress = {},
                                        const RefreshKeyspace& refresh = {});
/// Audits a sale with one lane.
inline absl::StatusOr<AuditReport> audit(Client& client, const SaleStores& stores,
                                         const SaleKeys& keys) {
  const SaleLane only{.keys = keys, .stores = stores};
  return audit_lanes(client, stores, {&only, 1});
}

}  // namespace rushgate
