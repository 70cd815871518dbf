#include "engine/sale/orders/consumers.h"

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/client/redis_error_code.h"
#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

/// `consumer` is an element of XINFO CONSUMERS' reply: name, value, name, value, …
std::optional<ForeignConsumer> read_consumer(const Reply& consumer) {
  ForeignConsumer found;
  const std::vector<Reply>& parts = consumer.elements();
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (parts[i].text() == "name") found.name = parts[i + 1].text();
    if (parts[i].text() == "pending") found.pending = parts[i + 1].integer();
    if (parts[i].text() == "idle") found.idle_ms = parts[i + 1].integer();
  }
  if (parts.empty()) return std::nullopt;
  return found;
}

}  // namespace

absl::Status register_consumer(Client& client, const SaleKeys& keys, std::string_view name) {
  const Reply added = client("SADD", keys.workers(), name);
  const bool is_done = added.is_integer() || has_code(added, redis_error_code::kOutOfMemory);
  return is_done ? absl::OkStatus() : to_status(added, "registering a consumer");
}

std::string ForeignConsumer::description(const SaleKeys& keys) const {
  return absl::StrCat(name, " reads ", keys.order_stream, " in the workers' group ", keys.group,
                      " and is no worker of this sale (", pending,
                      " entries pending): orders that it acknowledges are not stored here");
}

absl::StatusOr<std::vector<ForeignConsumer>> find_foreign_consumers(Client& client,
                                                                    const SaleKeys& keys) {
  constexpr std::string_view kDoing = "looking at the group's consumers";
  std::vector<ForeignConsumer> foreign;
  const Reply exists = client("EXISTS", keys.order_stream);
  if (!exists.is_integer()) return to_status(exists, kDoing);
  if (exists.integer() == 0) return foreign;
  // The consumers first: a worker registers before it reads.
  const Reply consumers = client("XINFO", "CONSUMERS", keys.order_stream, keys.group);
  if (has_code(consumers, "NOGROUP")) return foreign;
  if (!consumers.is_aggregate()) return to_status(consumers, kDoing);
  const Reply registered = client("SMEMBERS", keys.workers());
  if (!registered.is_aggregate()) return to_status(registered, kDoing);
  absl::flat_hash_set<std::string_view> ours;
  for (const Reply& name : registered.elements()) ours.insert(name.text());
  for (const Reply& element : consumers.elements()) {
    auto consumer = read_consumer(element);
    if (!consumer) return to_status(element, kDoing);
    if (!ours.contains(consumer->name)) foreign.push_back(*std::move(consumer));
  }
  return foreign;
}

}  // namespace rushgate
