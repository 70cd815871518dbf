#include "engine/sale/stream/consumers.h"

#include <optional>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {
namespace {

constexpr char kOwnerSeparator = '@';

/// Reads an element of XINFO CONSUMERS' reply: name, value, name, value, …
std::optional<GroupConsumer> read_consumer(const Reply& consumer) {
  GroupConsumer found;
  const std::vector<Reply>& parts = consumer.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (parts[i].text() == "name") found.name = parts[i + 1].text();
    if (parts[i].text() == "pending") found.pending = parts[i + 1].integer();
    if (parts[i].text() == "idle") found.idle_ms = parts[i + 1].integer();
  }
  if (parts.empty()) return std::nullopt;
  return found;
}

/// Returns all consumers of the group, foreign or not. None where there is no such group.
absl::StatusOr<std::vector<GroupConsumer>> read_all_consumers(Client& client,
                                                              const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking at the group's consumers";
  std::vector<GroupConsumer> all;
  const Reply exists = client("EXISTS", keys.order_stream);
  if (!exists.is_integer()) return to_status(exists, kDoing);
  if (exists.integer() == 0) return all;
  const Reply consumers = client("XINFO", "CONSUMERS", keys.order_stream, keys.group);
  if (has_code(consumers, "NOGROUP")) return all;
  if (!consumers.is_aggregate()) return to_status(consumers, kDoing);
  for (const Reply& element : consumers.elements()) {
    auto consumer = read_consumer(element);
    if (!consumer) return to_status(element, kDoing);
    all.push_back(*std::move(consumer));
  }
  return all;
}

bool is_own(std::string_view consumer, std::string_view identity) {
  return consumer.ends_with(consumer_name("", identity));
}

}  // namespace

std::string consumer_name(std::string_view worker, std::string_view identity) {
  std::string name(worker);
  name += kOwnerSeparator;
  name += identity;
  return name;
}

std::string GroupConsumer::description(const SaleKeys& keys) const {
  return concat(name, " reads ", keys.order_stream, " in the workers' group ", keys.group,
                " and is no worker of this sale (", pending,
                " entries pending): orders that it acknowledges are not stored here");
}

absl::StatusOr<std::vector<GroupConsumer>> find_own_consumers(Client& client, const SaleKeys& keys,
                                                              std::string_view identity) {
  ASSIGN_OR_RETURN(auto consumers, read_all_consumers(client, keys));
  std::erase_if(consumers,
                [&](const GroupConsumer& consumer) { return !is_own(consumer.name, identity); });
  return consumers;
}

absl::StatusOr<std::vector<GroupConsumer>> find_foreign_consumers(Client& client,
                                                                  const SaleKeys& keys,
                                                                  std::string_view identity) {
  ASSIGN_OR_RETURN(auto consumers, read_all_consumers(client, keys));
  std::erase_if(consumers,
                [&](const GroupConsumer& consumer) { return is_own(consumer.name, identity); });
  return consumers;
}

}  // namespace rushgate
