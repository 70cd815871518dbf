#include "engine/sale/stream/group_progress.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {
namespace {

/// Reads one group in XINFO GROUPS' reply: name, value, name, value, … Returns nothing if it is not
/// the group `name`.
std::optional<GroupProgress> read_progress(const Reply& group, std::string_view name) {
  if (!group.is_aggregate()) return std::nullopt;
  GroupProgress progress;
  bool is_it = false;
  const std::vector<Reply>& parts = group.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (!parts[i].is_text()) return std::nullopt;
    const std::string& field = parts[i].text();
    const Reply& value = parts[i + 1];
    if (field == "name" && value.is_text()) is_it = value.text() == name;
    if (field == "pending" && value.is_integer()) progress.pending = value.integer();
    if (field == "lag" && value.is_integer()) progress.lag = value.integer();
    if (field == "last-delivered-id" && value.is_text()) {
      const auto id = StreamId::parse(value.text());
      if (!id) return std::nullopt;
      progress.last_delivered = *id;
    }
  }
  if (!is_it) return std::nullopt;
  return progress;
}

/// Returns the id in an element of XPENDING's reply: [id, consumer, idle ms, deliveries].
std::optional<StreamId> read_pending_id(const Reply& element) {
  if (!element.is_aggregate() || element.elements().empty()) return std::nullopt;
  const Reply& id = element.elements()[0];
  return id.is_text() ? StreamId::parse(id.text()) : std::nullopt;
}

}  // namespace

absl::StatusOr<GroupProgress> read_group_progress(Client& client, const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking at the workers' group";
  const Reply exists = client("EXISTS", keys.order_stream);
  if (!exists.is_integer()) return to_status(exists, kDoing);
  if (exists.integer() == 0) return GroupProgress{};
  const Reply groups = client("XINFO", "GROUPS", keys.order_stream);
  if (!groups.is_aggregate()) return to_status(groups, kDoing);
  for (const Reply& group : groups.elements()) {
    if (const auto progress = read_progress(group, keys.group)) return *progress;
  }
  return GroupProgress{};
}

absl::StatusOr<StreamProgress> read_stream_progress(Client& client, const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking how far the workers are";
  const Reply newest = client("XREVRANGE", keys.order_stream, "+", "-", "COUNT", 1);
  if (!newest.is_aggregate()) return to_status(newest, kDoing);
  StreamProgress progress;
  if (!newest.elements().empty()) {
    const std::vector<Reply>& entry = newest.elements()[0].elements();
    const auto id = entry.empty() ? std::nullopt : StreamId::parse(entry[0].text());
    if (!id) return to_status(newest, kDoing);
    progress.last = *id;
  }
  // The last delivered id first: an entry that is delivered afterwards may be pending.
  ASSIGN_OR_RETURN(const auto group, read_group_progress(client, keys));
  progress.acknowledged_to = group.last_delivered;
  if (group.pending == 0) return progress;
  const Reply oldest = client("XPENDING", keys.order_stream, keys.group, "-", "+", 1);
  if (has_code(oldest, "NOGROUP")) return StreamProgress{.last = progress.last};
  if (!oldest.is_aggregate()) return to_status(oldest, kDoing);
  if (oldest.elements().empty()) return progress;
  const auto pending = read_pending_id(oldest.elements()[0]);
  if (!pending) return to_status(oldest, kDoing);
  const StreamId before = pending->previous().value_or(StreamId::min());
  progress.acknowledged_to = std::min(progress.acknowledged_to, before);
  return progress;
}

absl::StatusOr<std::string> read_caught_up(Client& client, const SaleKeys& keys) {
  const Reply caught_up = client("HGET", keys.stream_owner(), kCaughtUpField);
  if (caught_up.is_nil()) return "";
  if (!caught_up.is_text()) return to_status(caught_up, "looking at the workers' group");
  return std::string(caught_up.text());
}

absl::StatusOr<std::vector<StreamId>> read_pending_ids(Client& client, const SaleKeys& keys) {
  constexpr std::string_view kDoing = "reading the pending entries";
  constexpr std::size_t kPortion = 10'000;
  std::vector<StreamId> ids;
  StreamId after;
  while (true) {
    const Reply portion =
        client("XPENDING", keys.order_stream, keys.group, '(' + after.to_string(), "+", kPortion);
    if (has_code(portion, "NOGROUP")) return ids;
    if (!portion.is_aggregate()) return to_status(portion, kDoing);
    for (const Reply& element : portion.elements()) {
      const auto id = read_pending_id(element);
      if (!id) return to_status(element, kDoing);
      ids.push_back(*id);
      after = *id;
    }
    if (portion.elements().size() < kPortion) return ids;
  }
}

absl::StatusOr<bool> is_acknowledged(Client& client, const SaleKeys& keys, StreamId entry) {
  // The last delivered id first: an entry that is delivered afterwards may be pending.
  ASSIGN_OR_RETURN(const auto progress, read_group_progress(client, keys));
  if (entry > progress.last_delivered) return false;
  const std::string id = entry.to_string();
  const Reply pending = client("XPENDING", keys.order_stream, keys.group, id, id, 1);
  if (has_code(pending, "NOGROUP")) return true;
  if (!pending.is_aggregate()) return to_status(pending, "looking for a pending entry");
  return pending.elements().empty();
}

absl::StatusOr<AcknowledgedEntries> AcknowledgedEntries::read(Client& client,
                                                              const SaleKeys& keys) {
  ASSIGN_OR_RETURN(const auto progress, read_group_progress(client, keys));
  ASSIGN_OR_RETURN(auto pending, read_pending_ids(client, keys));
  return AcknowledgedEntries(progress.last_delivered, std::move(pending));
}

AcknowledgedEntries::AcknowledgedEntries(StreamId last_delivered, std::vector<StreamId> pending)
    : last_delivered_(last_delivered), pending_(std::move(pending)) {}

bool AcknowledgedEntries::contains(StreamId entry) const {
  return entry <= last_delivered_ && !std::binary_search(pending_.begin(), pending_.end(), entry);
}

}  // namespace rushgate
