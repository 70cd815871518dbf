// What stands between an accepted order and the database, as the order stream's group tells it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"

namespace rushgate {

/// Is there an order that no worker has been given, or has acknowledged?
absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys);

/// Gives every pending entry of the group to `consumer`, to be read again as its own. Only for
/// whoever knows that no worker is alive. Returns the ids of those that somebody deleted from the
/// stream: they are pending no longer.
absl::StatusOr<std::vector<std::string>> adopt_pending(Client& client, const SaleKeys& keys,
                                                       const std::string& consumer);

}  // namespace rushgate
