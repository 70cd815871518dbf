// The push operation of both queues on lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <rushgate/client.h>

namespace rushgate {

/// Pushes to the head of the list. Returns kResourceExhausted if it has `size_max` messages.
absl::Status push_to_list(Client& client, std::string_view list, std::int64_t size_max,
                          std::string_view body);

/// Returns the timeout of a blocking command on lists: seconds, with three decimals.
std::string list_timeout(std::int64_t block_ms);

}  // namespace rushgate
