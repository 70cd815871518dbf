#include "engine/recipes/limits/permission.h"

#include "engine/client/reply_status.h"

namespace rushgate {

absl::StatusOr<Permission> to_permission(const Reply& reply, std::string_view doing) {
  constexpr std::int64_t kUsPerMs = 1'000;
  const std::vector<Reply>& parts = reply.elements();
  if (parts.size() != 3) return to_status(reply, doing);
  return Permission{.granted = parts[0].integer() == 1,
                    .remaining = parts[1].integer(),
                    .retry_after_ms = (parts[2].integer() + kUsPerMs - 1) / kUsPerMs};
}

}  // namespace rushgate
