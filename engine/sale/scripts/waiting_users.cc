#include "engine/sale/scripts/waiting_users.h"

#include <optional>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/client/reply_status.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {

absl::StatusOr<std::vector<WaitingUser>> read_waiting_users(Client& client, const SaleKeys& keys,
                                                            VoucherId voucher, std::int64_t after,
                                                            std::size_t count_max) {
  constexpr std::string_view kDoing = "reading a waiting list";
  const Reply reply = client("ZRANGEBYSCORE", keys.waiting(voucher), concat("(", after), "+inf",
                             "WITHSCORES", "LIMIT", 0, static_cast<std::int64_t>(count_max));
  if (!reply.is_aggregate() || reply.elements().size() % 2 != 0) return to_status(reply, kDoing);
  std::vector<WaitingUser> users;
  for (std::size_t i = 0; i < reply.elements().size(); i += 2) {
    const Reply& user = reply.elements()[i];
    const Reply& score = reply.elements()[i + 1];
    const auto arrival = score.is_text() ? parse_int64(score.text()) : std::nullopt;
    if (!user.is_text() || !arrival) return to_status(score, kDoing);
    users.push_back({.user = UserId(user.text()), .arrival = *arrival});
  }
  return users;
}

}  // namespace rushgate
