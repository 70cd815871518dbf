// The reply of a limiter.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/reply.h>

namespace rushgate {

/// A value type.
struct Permission {
  bool granted = false;
  std::int64_t remaining = 0;       // the number that would still be granted now
  std::int64_t retry_after_ms = 0;  // 0 if granted; otherwise an earlier retry is refused
};

/// Reads the reply of a limiter's script: granted, remaining, µs until it can be granted.
absl::StatusOr<Permission> to_permission(const Reply& reply, std::string_view doing);
/// Returns that reply.
Reply permission_reply(bool is_granted, std::int64_t remaining, std::int64_t wait_us);

}  // namespace rushgate
