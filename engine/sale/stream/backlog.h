// Accepted orders that are not yet stored, as the order stream's group reports them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Returns true if some order was not delivered to a worker, or not acknowledged by one.
absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys);
/// Returns true if that is so in some lane.
absl::StatusOr<bool> has_unstored(Client& client, std::span<const SaleLane> lanes);

/// Hands the pending entries of workers of the database with this identity to `consumer`, which
/// then reads them as its own. None of those workers may run. Entries of other systems' consumers
/// stay with them. Returns the ids of entries that were deleted from the stream: they are pending
/// no longer.
absl::StatusOr<std::vector<std::string>> adopt_pending(Client& client, const SaleKeys& keys,
                                                       std::string_view identity,
                                                       std::string_view consumer);
/// Removes workers of the database with this identity from the group that have read nothing for
/// `idle_ms` and have no pending entries, such as those of processes that are gone. One that lives
/// joins again.
absl::Status remove_idle_consumers(Client& client, const SaleKeys& keys, std::string_view identity,
                                   std::int64_t idle_ms);
/// Returns the message about entries that were deleted while they were pending. `ids` is their list.
std::string deleted_entries_message(std::string_view stream, std::string_view ids);

}  // namespace rushgate
