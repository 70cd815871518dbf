#include "apps/backlog.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rushgate {
namespace {

absl::Status unexpected(const Reply& reply) {
  return absl::UnavailableError("looking at the order stream: " +
                                (reply.is_error() ? reply.text() : to_debug_string(reply)));
}

struct Group {
  std::int64_t pending = 0;
  std::string last_delivered = "0-0";
};

/// `group` is what XINFO GROUPS says of one: name, value, name, value, …
std::optional<Group> read_group(const Reply& group, std::string_view name) {
  if (!group.is_aggregate()) return std::nullopt;
  Group result;
  bool is_it = false;
  const std::vector<Reply>& parts = group.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (!parts[i].is_text()) return std::nullopt;
    const std::string& field = parts[i].text();
    const Reply& value = parts[i + 1];
    if (field == "name" && value.is_text()) is_it = value.text() == name;
    if (field == "pending" && value.is_integer()) result.pending = value.integer();
    if (field == "last-delivered-id" && value.is_text()) result.last_delivered = value.text();
  }
  if (!is_it) return std::nullopt;
  return result;
}

}  // namespace

absl::StatusOr<bool> has_unstored(Client& client, const SaleKeys& keys) {
  const Reply exists = client("EXISTS", keys.order_stream);
  if (!exists.is_integer()) return unexpected(exists);
  if (exists.integer() == 0) return false;
  const Reply groups = client("XINFO", "GROUPS", keys.order_stream);
  if (!groups.is_aggregate()) return unexpected(groups);
  Group group;  // without one, no order has been given to anybody
  for (const Reply& element : groups.elements()) {
    if (const auto found = read_group(element, keys.group)) group = *found;
  }
  if (group.pending > 0) return true;
  const Reply undelivered =
      client("XRANGE", keys.order_stream, '(' + group.last_delivered, "+", "COUNT", 1);
  if (!undelivered.is_aggregate()) return unexpected(undelivered);
  return !undelivered.elements().empty();
}

absl::Status adopt_pending(Client& client, const SaleKeys& keys, const std::string& consumer) {
  constexpr int kPortion = 1'000;
  std::string next = "0-0";
  do {
    const Reply claimed = client("XAUTOCLAIM", keys.order_stream, keys.group, consumer, 0, next,
                                 "COUNT", kPortion, "JUSTID");
    if (claimed.error_code() == "NOGROUP") return absl::OkStatus();  // nothing was ever given out
    if (!claimed.is_aggregate() || claimed.elements().empty() || !claimed.elements()[0].is_text()) {
      return unexpected(claimed);
    }
    next = claimed.elements()[0].text();
  } while (next != "0-0");
  return absl::OkStatus();
}

}  // namespace rushgate
