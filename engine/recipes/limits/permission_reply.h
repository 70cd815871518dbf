// The reply of a limiter's script.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/limits.h>
#include <rushgate/reply.h>

namespace rushgate {

/// Reads the reply: granted, remaining, µs until it can be granted.
absl::StatusOr<Permission> to_permission(const Reply& reply, std::string_view doing);
/// Returns that reply.
Reply permission_reply(bool is_granted, std::int64_t remaining, std::int64_t wait_us);

}  // namespace rushgate
