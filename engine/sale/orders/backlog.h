// What stands between an accepted order and the database, as the order stream's group tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"

namespace rushgate {

/// Is there an order that no worker has been given, or has acknowledged?
absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys);

/// Gives what workers of the database with this identity have pending to `consumer`, to be read
/// again as its own: none of them may run. Entries of other systems' consumers stay with them.
/// Returns the ids of those that were deleted from the stream: they are pending no longer.
absl::StatusOr<std::vector<std::string>> adopt_pending(Client& client, const SaleKeys& keys,
                                                       std::string_view identity,
                                                       std::string_view consumer);

}  // namespace rushgate
