// Keeps a stream as short as its consumer groups allow.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include <rushgate/client.h>

namespace rushgate {

/// Removes the entries of `stream` that every group has read and acknowledged. Removes none if it
/// has no group.
absl::Status trim_done_entries(Client& client, std::string_view stream);

}  // namespace rushgate
