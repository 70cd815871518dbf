#include "adapters/redis/cluster_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "adapters/redis/text.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/redis_error_code.h"

namespace rushgate {
namespace {

constexpr std::string_view kUnknownHost = "?";

std::optional<int> number_in(std::int64_t number, std::int64_t least, std::int64_t most) {
  if (number < least || number > most) return std::nullopt;
  return static_cast<int>(number);
}

/// Returns the value of a field in a flat list of names and values; empty if it is missing.
std::string_view metadata_of(const Reply& node, std::string_view name) {
  if (node.elements().size() < 4) return {};
  const auto& all = node.elements()[3].elements();
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].text() == name) return all[i + 1].text();
  }
  return {};
}

/// Returns the address of a node in CLUSTER SLOTS: [endpoint, port, id, metadata]. Nothing if it has
/// none for this kind of connection: no known host, or port 0.
std::optional<RedisAddress> address_of(const Reply& node, const RedisAddress& asked) {
  if (node.elements().size() < 2) return std::nullopt;
  std::string_view host = node.elements()[0].text();
  if (host == kUnknownHost) {
    host = metadata_of(node, "ip");
    if (host.empty()) return std::nullopt;
  }
  const auto port = number_in(node.elements()[1].integer(), 1, 65535);
  if (!port) return std::nullopt;
  return RedisAddress{host.empty() ? asked.host : std::string(host), *port};
}

std::string id_of(const Reply& node) {
  return node.elements().size() < 3 ? std::string() : std::string(node.elements()[2].text());
}

}  // namespace

std::uint16_t ClusterMap::add_master(const Master& master) {
  const auto found = std::ranges::find(masters_, master.address, &Master::address);
  if (found == masters_.end()) {
    masters_.push_back(master);
    return static_cast<std::uint16_t>(masters_.size());
  }
  return static_cast<std::uint16_t>(found - masters_.begin() + 1);
}

absl::StatusOr<ClusterMap> ClusterMap::parse(const Reply& slots, const RedisAddress& asked) {
  const auto malformed = [] { return absl::UnavailableError("it sends no map of the slots"); };
  if (!slots.is_aggregate()) return malformed();
  ClusterMap map;
  for (const Reply& range : slots.elements()) {
    const auto& parts = range.elements();
    if (parts.size() < 3 || !parts[0].is_integer() || !parts[1].is_integer()) return malformed();
    const auto first = number_in(parts[0].integer(), 0, kSlots - 1);
    const auto last = number_in(parts[1].integer(), 0, kSlots - 1);
    if (!first || !last) return malformed();
    for (std::size_t i = 2; i < parts.size(); ++i) {
      if (std::string id = id_of(parts[i]); !id.empty()) map.ids_.insert(std::move(id));
      const auto address = i > 2 ? address_of(parts[i], asked) : std::nullopt;
      if (address) map.replicas_.push_back(*address);
    }
    const auto master = address_of(parts[2], asked);
    if (!master) continue;
    const std::uint16_t owner = map.add_master({id_of(parts[2]), *master});
    for (int slot = *first; slot <= *last; ++slot) {
      std::uint16_t& present = map.owners_[static_cast<std::size_t>(slot)];
      if (present == kNobody) --map.uncovered_;
      present = owner;
    }
  }
  return map;
}

const ClusterMap::Master* ClusterMap::owner(int slot) const {
  const std::uint16_t owner = owners_[static_cast<std::size_t>(slot)];
  return owner == kNobody ? nullptr : &masters_[owner - 1U];
}

void ClusterMap::set_owner(int slot, const RedisAddress& address) {
  std::uint16_t& present = owners_[static_cast<std::size_t>(slot)];
  if (present == kNobody) --uncovered_;
  present = add_master({{}, address});
}

std::string ClusterMap::uncovered_text() const {
  std::string text;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (owner(slot) != nullptr) continue;
    const int first = slot;
    while (slot + 1 < kSlots && owner(slot + 1) == nullptr) ++slot;
    text += concat(text.empty() ? "" : ", ", first, first == slot ? "" : concat("-", slot));
  }
  return text;
}

std::optional<RedisAddress> node_address(std::string_view endpoint, const RedisAddress& sender) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = endpoint.substr(0, colon);
  const auto port = parse_int64(endpoint.substr(colon + 1));
  if (!port || !number_in(*port, 1, 65535) || host == kUnknownHost) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return RedisAddress{host.empty() ? sender.host : std::string(host), static_cast<int>(*port)};
}

std::optional<Redirect> parse_redirect(const Reply& reply) {
  if (!reply.is_error()) return std::nullopt;
  std::string_view text = reply.text();
  const std::string_view code = reply.error_code();
  const bool only_once = code == redis_error_code::kAsk;
  if (!only_once && code != redis_error_code::kMoved) return std::nullopt;
  text.remove_prefix(std::min(code.size() + 1, text.size()));
  const std::size_t space = text.find(' ');
  const auto slot = parse_int64(text.substr(0, space));
  if (space == std::string_view::npos || !slot || !number_in(*slot, 0, kSlots - 1)) {
    return std::nullopt;
  }
  return Redirect{static_cast<int>(*slot), only_once, text.substr(space + 1)};
}

}  // namespace rushgate
