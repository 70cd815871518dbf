// Error replies as statuses, for calls that either work or don't.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/client/reply.h"

namespace rushgate {

/// `reply` is not what was expected while `doing`. kUnavailable if trying again may help
/// (overloaded, timed out, busy, no connection, a failed store, an unknown outcome), kInternal
/// otherwise.
absl::Status to_status(const Reply& reply, std::string_view doing);

/// Returns true if to_status() made `status` of a reply CLOSED: the keyspace is closed, or cannot
/// be reached.
bool is_closed(const absl::Status& status);

}  // namespace rushgate
