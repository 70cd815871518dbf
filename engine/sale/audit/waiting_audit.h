// The waiting lists, compared with the stock and the orders.
#pragma once

#include "absl/status/status.h"
#include <rushgate/audit_report.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Adds a problem for each waiting user without an order, or with one that is used, and for
/// each list that could be served. A publication serves its list before it is recorded as applied, so
/// the list of a version that is not applied yet may be on its way.
absl::Status audit_waiting_lists(Client& client, const SaleStores& stores, const SaleKeys& keys,
                                 AuditReport& report);

}  // namespace rushgate
