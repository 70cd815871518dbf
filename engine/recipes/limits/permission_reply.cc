#include "engine/recipes/limits/permission_reply.h"

#include <utility>
#include <vector>

#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

absl::StatusOr<Permission> to_permission(const Reply& reply, std::string_view doing) {
  const std::vector<Reply>& parts = reply.elements();
  if (parts.size() != 3) return to_status(reply, doing);
  return Permission{.granted = parts[0].integer() == 1,
                    .remaining = parts[1].integer(),
                    .retry_after_ms = (parts[2].integer() + kUsPerMs - 1) / kUsPerMs};
}

Reply permission_reply(bool is_granted, std::int64_t remaining, std::int64_t wait_us) {
  std::vector<Reply> parts;
  parts.reserve(3);
  parts.push_back(Reply::integer(is_granted ? 1 : 0));
  parts.push_back(Reply::integer(remaining));
  parts.push_back(Reply::integer(wait_us));
  return Reply::array(std::move(parts));
}

}  // namespace rushgate
