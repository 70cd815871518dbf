// Commands that find positions: https://redis.io/docs/latest/commands/geosearch/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/geo_arguments.h"
#include "engine/redis/commands/geo_search_request.h"
#include "engine/redis/commands/geo_shape.h"
#include "engine/redis/commands/partial_sort.h"
#include "engine/redis/commands/sorted_set_arguments.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

// ---- The search ----

/// A member inside the shape. A view of its element.
struct FoundMember {
  std::string_view name;
  double score;
  GeoPosition position;
  double distance_m;
};

using FoundMembers = std::vector<FoundMember>;

/// Appends the members of one cell, until there are `count_max`.
void add_members_of(const GeoCell& cell, const SortedSetValue& value, const GeoShape& shape,
                    std::size_t count_max, FoundMembers& members) {
  constexpr std::size_t kStep = 64;
  const ScoreRange scores = {cell.first_score(), cell.end_score(), false, true};
  RankRange ranks = scores.ranks_in(value);
  while (!ranks.empty() && members.size() < count_max) {
    const std::size_t end = ranks.first + std::min(ranks.size(), kStep);
    value.for_each(ranks.first, end, [&](const ScoredElement& element) {
      if (members.size() >= count_max) return;
      const GeoPosition position = position_of(element.score);
      const auto distance = shape.distance_inside_m(position);
      if (distance) members.push_back({element.member, element.score, position, *distance});
    });
    ranks.first = end;
  }
}

/// Sorts so that the first `count` members are in order.
void sort(std::span<FoundMember> members, GeoOrder order, std::size_t count) {
  const int sign = order == GeoOrder::kNearestFirst ? 1 : -1;
  const auto compare = [sign](const FoundMember& a, const FoundMember& b) {
    if (a.distance_m == b.distance_m) return 0;
    return a.distance_m > b.distance_m ? sign : -sign;
  };
  if (count < members.size())
    return PartialSort<FoundMember, decltype(compare)>(compare).sort(members, count);
  std::ranges::stable_sort(members, [&compare](const FoundMember& a, const FoundMember& b) {
    return compare(a, b) < 0;
  });
}

/// Returns the members that the request asks for, in the order of the reply.
FoundMembers find_members(const SortedSetValue& value, const GeoSearchRequest& request) {
  constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);
  const std::size_t count = request.count == 0 ? kUnlimited : request.count;
  FoundMembers members;
  for (const GeoCell& cell : covering_cells(request.shape))
    add_members_of(cell, value, request.shape, request.any ? count : kUnlimited, members);
  const std::size_t returned = std::min(count, members.size());
  // The nearest members are counted, unless any will do.
  const bool needs_order = request.count != 0 && !request.any;
  if (request.order != GeoOrder::kNone || needs_order) {
    sort(members, request.order == GeoOrder::kNone ? GeoOrder::kNearestFirst : request.order,
         returned);
  }
  members.resize(returned);
  return members;
}

// ---- Replies ----

Reply member_reply(const CommandContext& context, const FoundMember& member,
                   const GeoSearchRequest& request) {
  if (!request.returns_details()) return Reply::bulk(member.name);
  std::vector<Reply> details = {Reply::bulk(member.name)};
  if (request.with_distance)
    details.push_back(distance_reply(member.distance_m / request.shape.unit_m));
  if (request.with_score)
    details.push_back(Reply::integer(static_cast<std::int64_t>(member.score)));
  if (request.with_position) details.push_back(position_reply(context, member.position));
  return Reply::array(std::move(details));
}

/// Replaces the value at the key for results.
Reply store_members(CommandContext& context, const GeoSearchCommand& command,
                    const GeoSearchRequest& request, const FoundMembers& members) {
  const std::string_view key = *request.store_key;
  std::vector<sorted_sets::ScoredMember> stored;
  stored.reserve(members.size());
  for (const FoundMember& member : members) {
    stored.push_back({std::string(member.name), request.store_distances
                                                    ? member.distance_m / request.shape.unit_m
                                                    : member.score});
  }
  const bool had_key = context.db().find(key) != nullptr;
  sorted_sets::store(context.db(), key, stored,
                     sorted_sets::is_small(context.keyspace().limits(), stored));
  if (!stored.empty()) {
    context.notify(kSortedSetEvents, command.store_event(), key);
  } else if (had_key) {
    context.notify(kGenericEvents, "del", key);
  }
  return Reply::integer(static_cast<std::int64_t>(stored.size()));
}

// ---- The commands ----

Reply search(CommandContext& context, const GeoSearchCommand& command) {
  Object* object = nullptr;
  if (!context.find(context[command.key()], ValueType::kSortedSet, object))
    return errors::wrong_type();
  const SortedSetValue* const value = object == nullptr ? nullptr : &object->sorted_set();
  GeoSearchRequest request;
  if (auto error = read_search(command, context.request(), value, request))
    return *std::move(error);

  const FoundMembers members = value == nullptr ? FoundMembers() : find_members(*value, request);
  if (request.store_key) return store_members(context, command, request, members);
  std::vector<Reply> replies;
  replies.reserve(members.size());
  for (const FoundMember& member : members)
    replies.push_back(member_reply(context, member, request));
  return Reply::array(std::move(replies));
}

using Centre = GeoSearchCommand::Centre;

Reply geosearch_command(CommandContext& context) {
  return search(context, {.centre = Centre::kOptions, .stores = false});
}

Reply geosearchstore_command(CommandContext& context) {
  return search(context, {.centre = Centre::kOptions, .stores = true});
}

Reply georadius_command(CommandContext& context) {
  return search(context, {.centre = Centre::kPosition, .stores = true});
}

Reply georadius_ro_command(CommandContext& context) {
  return search(context, {.centre = Centre::kPosition, .stores = false});
}

Reply georadiusbymember_command(CommandContext& context) {
  return search(context, {.centre = Centre::kMember, .stores = true});
}

Reply georadiusbymember_ro_command(CommandContext& context) {
  return search(context, {.centre = Centre::kMember, .stores = false});
}

// ---- The records ----

constexpr std::string_view kComplexity =
    "O(N+M*log(M)), N members in the cells of the map around the area, M found";

constexpr CommandSpec kGeoSearchCommands[] = {
    {.name = "geosearch",
     .function = geosearch_command,
     .arity = -7,
     .flags = kReadOnly,
     .syntax = "key <FROMMEMBER member | FROMLONLAT longitude latitude> "
               "<BYRADIUS radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI>> "
               "[ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
     .summary = "Returns the members inside a circle or a box.",
     .since = "6.2.0",
     .complexity = kComplexity},
    {.name = "geosearchstore",
     .function = geosearchstore_command,
     .arity = -8,
     .flags = kWrite | kDenyOom,
     .syntax = "destination source <FROMMEMBER member | FROMLONLAT longitude latitude> "
               "<BYRADIUS radius <M | KM | FT | MI> | BYBOX width height <M | KM | FT | MI>> "
               "[ASC | DESC] [COUNT count [ANY]] [STOREDIST]",
     .summary = "Stores the members inside a circle or a box in another key.",
     .since = "6.2.0",
     .complexity = kComplexity},
    {.name = "georadius",
     .function = georadius_command,
     .arity = -6,
     .flags = kWrite | kDenyOom,
     .syntax = "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
               "[COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
     .summary = "Returns or stores the members inside a circle.",
     .since = "3.2.0",
     .complexity = kComplexity,
     .deprecated_since = "6.2.0",
     .replaced_by = "GEOSEARCH and GEOSEARCHSTORE with BYRADIUS"},
    {.name = "georadius_ro",
     .function = georadius_ro_command,
     .arity = -6,
     .flags = kReadOnly,
     .syntax = "key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
               "[COUNT count [ANY]] [ASC | DESC]",
     .summary = "Returns the members inside a circle.",
     .since = "3.2.10",
     .complexity = kComplexity,
     .deprecated_since = "6.2.0",
     .replaced_by = "GEOSEARCH with BYRADIUS"},
    {.name = "georadiusbymember",
     .function = georadiusbymember_command,
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .syntax = "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
               "[COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
     .summary = "Returns or stores the members inside a circle around a member.",
     .since = "3.2.0",
     .complexity = kComplexity,
     .deprecated_since = "6.2.0",
     .replaced_by = "GEOSEARCH and GEOSEARCHSTORE with BYRADIUS and FROMMEMBER"},
    {.name = "georadiusbymember_ro",
     .function = georadiusbymember_ro_command,
     .arity = -5,
     .flags = kReadOnly,
     .syntax = "key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
               "[COUNT count [ANY]] [ASC | DESC]",
     .summary = "Returns the members inside a circle around a member.",
     .since = "3.2.10",
     .complexity = kComplexity,
     .deprecated_since = "6.2.0",
     .replaced_by = "GEOSEARCH with BYRADIUS and FROMMEMBER"},
};

}  // namespace

CommandFamily geo_search_commands() { return {CommandGroup::kGeo, kGeoSearchCommands}; }

}  // namespace rushgate
