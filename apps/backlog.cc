#include "apps/backlog.h"

#include <string_view>

#include "engine/sale/orders/group_progress.h"

namespace rushgate {
namespace {

absl::Status unexpected(const Reply& reply) {
  return absl::UnavailableError("looking at the order stream: " +
                                (reply.is_error() ? reply.text() : to_debug_string(reply)));
}

/// XAUTOCLAIM's answer to JUSTID: [where to go on, ids claimed, ids whose entries are gone (from
/// Redis 7.0 on)].
bool is_claimed(const Reply& reply) {
  return reply.is_aggregate() && reply.elements().size() >= 2 && reply.elements()[0].is_text();
}

}  // namespace

absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys) {
  const auto progress = read_group_progress(client, keys);
  if (!progress.ok()) return progress.status();
  if (progress->pending > 0) return true;
  const Reply undelivered = client("XRANGE", keys.order_stream,
                                   '(' + progress->last_delivered.to_string(), "+", "COUNT", 1);
  if (!undelivered.is_aggregate()) return unexpected(undelivered);
  return !undelivered.elements().empty();
}

absl::StatusOr<std::vector<std::string>> adopt_pending(Client& client, const SaleKeys& keys,
                                                       const std::string& consumer) {
  constexpr int kPortion = 1'000;
  std::vector<std::string> gone;
  std::string next = "0-0";
  do {
    const Reply claimed = client("XAUTOCLAIM", keys.order_stream, keys.group, consumer, 0, next,
                                 "COUNT", kPortion, "JUSTID");
    if (claimed.error_code() == "NOGROUP") return gone;  // nothing was ever given out
    if (!is_claimed(claimed)) return unexpected(claimed);
    next = claimed.elements()[0].text();
    if (claimed.elements().size() == 2) continue;
    for (const Reply& id : claimed.elements()[2].elements()) gone.push_back(id.text());
  } while (next != "0-0");
  return gone;
}

}  // namespace rushgate
