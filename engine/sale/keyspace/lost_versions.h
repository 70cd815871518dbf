// Versions of vouchers that are in force in the keyspace, and that the database has lost.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Records each applied version (SaleKeys::applied_versions()) that the database lacks, and its state. So the
/// orders that were admitted under it can be stored again. Numbers between them, which were refused, are
/// recorded as refused. Returns how many versions it recorded. May be repeated.
absl::StatusOr<std::size_t> restore_lost_versions(Client& client, const SaleStores& stores,
                                                  const SaleKeys& keys);

}  // namespace rushgate
