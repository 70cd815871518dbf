#include "engine/sale/stream/lost_orders.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/lost_find.lua.h"
#include "engine/sale/stream/dead_letters.h"

namespace rushgate {
namespace {

const Script& find_missing_script() {
  static const Script* const kScript = new Script(lua::kLostFind);
  return *kScript;
}

/// Appends the orders of `orders` that are not in the stream.
absl::Status append_missing(Client& client, const SaleKeys& keys, std::span<LostOrder> orders,
                            std::vector<LostOrder>& missing) {
  constexpr std::string_view kDoing = "looking for orders in the stream";
  std::vector<std::string> ids;
  ids.reserve(orders.size());
  for (const LostOrder& lost : orders) ids.push_back(std::to_string(lost.order.id));
  std::vector<std::string_view> arguments;
  arguments.reserve(2 * orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    arguments.push_back(orders[i].entry.id);
    arguments.push_back(ids[i]);
  }
  const std::string_view names[] = {keys.order_stream};
  const Reply found = client.run(find_missing_script(), names, arguments);
  if (!found.is_aggregate()) return to_status(found, kDoing);
  for (const Reply& position : found.elements()) {
    if (!position.is_integer()) return to_status(position, kDoing);
    missing.push_back(std::move(orders[static_cast<std::size_t>(position.integer())]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<LostOrder>> find_lost_orders(Client& client, OrderStore& orders,
                                                        const SaleKeys& keys,
                                                        std::span<const OrderEntry> entries) {
  constexpr std::size_t kPortion = 1'000;
  std::vector<LostOrder> readable;
  for (const OrderEntry& entry : entries) {
    auto order = read_order(entry);
    if (order.ok()) readable.push_back({.order = *order, .entry = entry});
  }
  std::vector<LostOrder> missing;
  for (std::span<LostOrder> left = readable; !left.empty();) {
    const auto portion = left.first(std::min(left.size(), kPortion));
    RETURN_IF_ERROR(append_missing(client, keys, portion, missing));
    left = left.subspan(portion.size());
  }
  // The database and the dead letters last: an order that leaves the stream meanwhile is found
  // there.
  std::vector<LostOrder> lost;
  for (LostOrder& candidate : missing) {
    ASSIGN_OR_RETURN(const auto stored, orders.find(candidate.order.id));
    if (stored.has_value()) continue;
    ASSIGN_OR_RETURN(const auto letter, find_dead_letter(client, keys, candidate.order.id));
    if (!letter.has_value()) lost.push_back(std::move(candidate));
  }
  return lost;
}

}  // namespace rushgate
