#include "adapters/redis/cluster_routing.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/redis/redis_client.h"
#include "adapters/redis/request_timeout.h"
#include "adapters/redis/text.h"
#include "adapters/redis/transaction_state.h"
#include "engine/core/client/command_keys.h"
#include "engine/core/client/command_names.h"
#include "engine/core/client/command_traits.h"
#include "engine/core/client/key_slot.h"
#include "engine/core/client/redis_error_code.h"

namespace rushgate {
namespace {

// ---- Commands without keys ----

struct SpreadCommand {
  std::string_view name;
  Merge merge;
};

/// All others without keys run on any master.
constexpr std::array kOnAllMasters = {
    SpreadCommand{"config|resetstat", Merge::kFirstError},
    SpreadCommand{"config|rewrite", Merge::kFirstError},
    SpreadCommand{"config|set", Merge::kFirstError},
    SpreadCommand{"dbsize", Merge::kSum},
    SpreadCommand{"flushall", Merge::kFirstError},
    SpreadCommand{"flushdb", Merge::kFirstError},
    SpreadCommand{"function|delete", Merge::kFirstError},
    SpreadCommand{"function|flush", Merge::kFirstError},
    SpreadCommand{"function|load", Merge::kFirstError},
    SpreadCommand{"function|restore", Merge::kFirstError},
    SpreadCommand{"keys", Merge::kConcatenated},
    SpreadCommand{"script|exists", Merge::kLeast},
    SpreadCommand{"script|flush", Merge::kFirstError},
    // A master that is down gets it when it lacks it (NOSCRIPT).
    SpreadCommand{"script|load", Merge::kFirstSuccess},
};

struct RefusedCommand {
  std::string_view name;
  std::string_view why;
};

constexpr std::string_view kWhyNoWait =
    "it counts the writes of one connection: send it behind them in a pipeline";

/// These would do something else than their sender expects.
constexpr std::array kRefused = {
    RefusedCommand{"client|unblock", "a connection's number is that of one node"},
    RefusedCommand{"scan", "a cursor is that of one node"},
    RefusedCommand{"wait", kWhyNoWait},
    RefusedCommand{"waitaof", kWhyNoWait},
};

const SpreadCommand* find_spread(const Request& request) {
  static const CommandNames<SpreadCommand> kByName(kOnAllMasters);
  return kByName.find(request);
}

const RefusedCommand* find_refused(const Request& request) {
  static const CommandNames<RefusedCommand> kByName(kRefused);
  return kByName.find(request);
}

bool is_wait(const Request& request) {
  return equals_ignore_case(request[0], "WAIT") || equals_ignore_case(request[0], "WAITAOF");
}

// ---- Units ----

/// Returns how many requests from `first` on belong to one transaction; 1 if none begins there.
std::size_t transaction_size(std::span<const Request> requests, std::size_t first) {
  TransactionState transaction;
  for (std::size_t i = first; i < requests.size(); ++i) {
    transaction.note(command_traits(requests[i]).connection);
    if (!transaction.is_open()) return i - first + 1;
  }
  return requests.size() - first;
}

/// The first key of a unit.
struct UnitKey {
  std::string_view name;
  int slot;
};

Reply cross_slot(const UnitKey& one, const UnitKey& other) {
  return Reply::error(concat(redis_error_code::kCrossSlot, " the keys \"", one.name, "\" (slot ",
                             one.slot, ") and \"", other.name, "\" (slot ", other.slot,
                             ") are in different slots of the cluster; a common {tag} in their "
                             "names puts them in one"));
}

/// Finds the slot of a unit, or refuses it.
void find_slot(std::span<const Request> requests, RequestUnit& unit) {
  std::optional<UnitKey> first;
  for (const Request& request : requests.subspan(unit.first, unit.count)) {
    const KeySpecs specs = command_keys(request);
    if (specs.empty()) continue;
    const Request::Views views = request.views();
    for (auto* const find : {&find_keys, &find_channels}) {
      for (const FoundKey& found : (*find)(specs, views)) {
        const UnitKey key{views[found.position], key_slot(views[found.position])};
        if (!first) first = key;
        if (first->slot == key.slot) continue;
        unit.refusal = cross_slot(*first, key);
        return;
      }
    }
  }
  if (first) unit.slot = first->slot;
}

void refuse(RequestUnit& unit, std::string_view what, std::string_view why) {
  unit.refusal = Reply::error(concat("ERR '", what, "' on a cluster: ", why));
}

void find_way(std::span<const Request> requests, RequestUnit& unit) {
  const std::span<const Request> own = requests.subspan(unit.first, unit.count);
  const Request& begin = own.front();
  const bool is_alone = unit.count == 1;
  unit.subscribes = is_alone && command_traits(begin).connection == ConnectionUse::kSubscribes;
  unit.route = route_of(own);
  unit.blocks = unit.subscribes;  // on a connection of its own
  if (unit.subscribes) {
    const bool names_none = equals_ignore_case(begin[0], "SUNSUBSCRIBE") && begin.size() == 1;
    if (names_none) refuse(unit, begin[0], "name the channels: each one may be on another node");
    return;
  }
  if (unit.route == Route::kOwn) {
    const bool changes = command_traits(begin).connection == ConnectionUse::kChangesState;
    return refuse(unit, begin[0],
                  changes ? "it changes one connection, and a client has several"
                          : "a transaction and its WATCH must be in one pipeline, up to EXEC");
  }
  unit.blocks = is_alone && block_timeout_ms(begin).has_value();
  if (unit.slot || !is_alone) return;
  if (const RefusedCommand* const refused = find_refused(begin)) {
    return refuse(unit, begin[0], refused->why);
  }
  if (const SpreadCommand* const spread = find_spread(begin)) {
    unit.reach = Reach::kAllMasters;
    unit.merge = spread->merge;
  }
}

// ---- Merging ----

Reply sum_of(const std::vector<Reply>& replies) {
  std::int64_t sum = 0;
  for (const Reply& reply : replies) sum += reply.integer();
  return Reply::integer(sum);
}

Reply concatenated(const std::vector<Reply>& replies) {
  std::vector<Reply> all;
  for (const Reply& reply : replies) {
    all.insert(all.end(), reply.elements().begin(), reply.elements().end());
  }
  return Reply::array(std::move(all));
}

Reply least_of(const std::vector<Reply>& replies) {
  std::vector<Reply> least = replies.front().elements();
  for (const Reply& reply : replies) {
    const auto& others = reply.elements();
    for (std::size_t i = 0; i < std::min(least.size(), others.size()); ++i) {
      if (others[i].integer() < least[i].integer()) least[i] = others[i];
    }
  }
  return Reply::array(std::move(least));
}

}  // namespace

Reply merged(Merge merge, std::vector<Reply> replies) {
  const bool wants_success = merge == Merge::kFirstSuccess;
  const auto found = std::ranges::find_if(
      replies, [&](const Reply& reply) { return reply.is_error() != wants_success; });
  if (found != replies.end()) return std::move(*found);
  switch (merge) {
    case Merge::kFirstError:
    case Merge::kFirstSuccess:
      break;
    case Merge::kSum:
      return sum_of(replies);
    case Merge::kConcatenated:
      return concatenated(replies);
    case Merge::kLeast:
      return least_of(replies);
  }
  return std::move(replies.front());
}

RequestUnits units_of(std::span<const Request> requests) {
  RequestUnits units;
  for (std::size_t i = 0; i < requests.size(); i += units.back().count) {
    RequestUnit& unit = units.emplace_back();
    unit.first = i;
    unit.count = transaction_size(requests, i);
    while (i + unit.count < requests.size() && is_wait(requests[i + unit.count])) ++unit.count;
    find_slot(requests, unit);
    if (!unit.refusal) find_way(requests, unit);
  }
  return units;
}

}  // namespace rushgate
