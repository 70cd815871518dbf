// Converts error replies to statuses.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Returns the status for an unexpected `reply` to the operation `doing`. kUnavailable if a retry
/// may help (overloaded, timed out, busy, no connection, a failed store, an unknown outcome), else
/// kInternal.
absl::Status to_status(const Reply& reply, std::string_view doing);

/// Returns true if to_status() created `status` from CLOSED: the keyspace is closed or
/// unreachable.
bool is_closed(const absl::Status& status);

}  // namespace rushgate
