#include "engine/sale/stream/backlog.h"

#include <set>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/scripts/consumer_remove.lua.h"
#include "engine/sale/stream/consumers.h"
#include "engine/sale/stream/group_progress.h"

namespace rushgate {
namespace {

absl::Status unexpected(const Reply& reply) {
  return absl::UnavailableError("looking at the order stream: " +
                                (reply.is_error() ? reply.text() : to_debug_string(reply)));
}

/// Hands over the entries of one consumer, and adds the ids of deleted ones to `gone`.
absl::Status adopt_from(std::string_view from, Client& client, const SaleKeys& keys,
                        std::string_view consumer, std::vector<std::string>& gone) {
  constexpr std::size_t kPortion = 1'000;
  std::string after = "-";
  while (true) {
    const Reply pending =
        client("XPENDING", keys.order_stream, keys.group, after, "+", kPortion, from);
    if (!pending.is_aggregate()) return unexpected(pending);
    if (pending.elements().empty()) return absl::OkStatus();
    Request claim = Request::of("XCLAIM", keys.order_stream, keys.group, consumer, 0);
    for (const Reply& entry : pending.elements()) {
      if (entry.elements().empty()) return unexpected(pending);
      claim.add(entry.elements()[0].text());
    }
    claim.add("JUSTID");
    const Reply claimed = client.call(std::move(claim));
    if (!claimed.is_aggregate()) return unexpected(claimed);
    std::set<std::string_view> there;
    for (const Reply& id : claimed.elements()) there.insert(id.text());
    for (const Reply& entry : pending.elements()) {
      const std::string& id = entry.elements()[0].text();
      if (!there.contains(id)) gone.push_back(id);
    }
    after = '(' + pending.elements().back().elements()[0].text();
  }
}

const Script& remove_consumer_script() {
  static const Script* const kScript = new Script(lua::kConsumerRemove);
  return *kScript;
}

}  // namespace

absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys) {
  ASSIGN_OR_RETURN(const auto progress, read_group_progress(client, keys));
  if (progress.pending > 0) return true;
  const Reply undelivered = client("XRANGE", keys.order_stream,
                                   '(' + progress.last_delivered.to_string(), "+", "COUNT", 1);
  if (!undelivered.is_aggregate()) return unexpected(undelivered);
  return !undelivered.elements().empty();
}

absl::StatusOr<bool> has_unstored(Client& client, std::span<const SaleLane> lanes) {
  for (const SaleLane& lane : lanes) {
    ASSIGN_OR_RETURN(const bool unstored, has_unstored(client, lane.keys));
    if (unstored) return true;
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> adopt_pending(Client& client, const SaleKeys& keys,
                                                       std::string_view identity,
                                                       std::string_view consumer) {
  ASSIGN_OR_RETURN(const auto own, find_own_consumers(client, keys, identity));
  std::vector<std::string> gone;
  for (const GroupConsumer& from : own) {
    RETURN_IF_ERROR(adopt_from(from.name, client, keys, consumer, gone));
  }
  return gone;
}

absl::Status remove_idle_consumers(Client& client, const SaleKeys& keys, std::string_view identity,
                                   std::int64_t idle_ms) {
  ASSIGN_OR_RETURN(const auto own, find_own_consumers(client, keys, identity));
  for (const GroupConsumer& consumer : own) {
    if (consumer.pending > 0 || consumer.idle_ms < idle_ms) continue;
    const std::string_view names[] = {keys.order_stream};
    const std::string_view arguments[] = {keys.group, consumer.name};
    const Reply removed = client.run(remove_consumer_script(), names, arguments);
    if (!removed.is_integer()) return unexpected(removed);
  }
  return absl::OkStatus();
}

std::string deleted_entries_message(std::string_view stream, std::string_view ids) {
  return concat(
      "order entries were deleted from ", stream,
      " while they were pending; those of their orders that were not stored before are lost "
      "(the audit names their users): ",
      ids);
}

}  // namespace rushgate
