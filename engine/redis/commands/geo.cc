// Commands on positions: https://redis.io/docs/latest/commands/?group=geo
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/geo_arguments.h"
#include "engine/redis/commands/geohash.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

// ---- GEOADD ----

struct GeoAddRequest {
  bool only_new = false;
  bool only_existing = false;
  bool count_changed = false;

  struct Member {
    std::string_view name;
    double score;
  };
  std::vector<Member> members = {};
};

GeoAddRequest read_geo_add(Arguments& arguments) {
  GeoAddRequest add;
  while (true) {
    if (arguments.accept("NX")) {
      add.only_new = true;
    } else if (arguments.accept("XX")) {
      add.only_existing = true;
    } else if (arguments.accept("CH")) {
      add.count_changed = true;
    } else {
      break;
    }
  }
  const std::size_t values = arguments.left();
  if (values == 0 || values % 3 != 0 || (add.only_new && add.only_existing))
    arguments.fail(errors::syntax());
  add.members.reserve(values / 3);
  while (!arguments.at_end()) {
    const GeoPosition position = read_position(arguments);
    const std::string_view name = arguments.next();
    if (!arguments.ok()) break;
    const GeoCell cell = GeoCell::of(position, GeoCell::kStepMax);
    add.members.push_back({name, cell.first_score()});
  }
  return add;
}

Reply geoadd_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const GeoAddRequest add = read_geo_add(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr && add.only_existing) return Reply::integer(0);

  if (object == nullptr) object = &sorted_sets::create(context.db(), context[1]);
  std::int64_t added = 0;
  std::int64_t updated = 0;
  for (const auto& [name, score] : add.members) {
    const auto current = object->sorted_set().score(name);
    if (current ? add.only_new || *current == score : add.only_existing) continue;
    ++(sorted_sets::set(context.db(), *object, name, score) ? added : updated);
  }
  if (added + updated > 0) context.notify(kSortedSetEvents, "zadd", context[1]);
  return Reply::integer(add.count_changed ? added + updated : added);
}

// ---- Commands on members ----

std::optional<GeoPosition> find_position(Object* object, std::string_view member) {
  const auto score = object == nullptr ? std::nullopt : object->sorted_set().score(member);
  if (!score) return std::nullopt;
  return position_of(*score);
}

Reply geodist_command(CommandContext& context) {
  Arguments arguments(context.request(), 4);
  const double unit_m = arguments.left() == 1 ? read_unit_m(arguments) : 1;
  if (!arguments.at_end()) arguments.fail(errors::syntax());
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  const auto from = find_position(object, context[2]);
  const auto to = find_position(object, context[3]);
  if (!from || !to) return Reply::nil();
  return distance_reply(distance_m(*from, *to) / unit_m);
}

/// Returns the positions of members, each as to_reply() formats it, or `missing`.
template <class ToReply>
Reply positions_reply(CommandContext& context, ToReply to_reply, const Reply& missing) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  std::vector<Reply> replies;
  replies.reserve(context.size() - 2);
  for (const std::string_view member : context.request().subspan(2)) {
    const auto position = find_position(object, member);
    replies.push_back(position ? to_reply(*position) : missing);
  }
  return Reply::array(std::move(replies));
}

Reply geohash_command(CommandContext& context) {
  return positions_reply(
      context, [](const GeoPosition& position) { return Reply::bulk(geohash_text(position)); },
      Reply::nil());
}

Reply geopos_command(CommandContext& context) {
  return positions_reply(
      context, [&](const GeoPosition& position) { return position_reply(context, position); },
      Reply::nil_array());
}

// ---- The records ----

constexpr CommandSpec kGeoCommands[] = {
    {.name = "geoadd",
     .function = geoadd_command,
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .syntax = "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
     .summary = "Adds members with positions, or changes their positions.",
     .since = "3.2.0",
     .complexity = "O(log N) a member, N members of the set"},
    {.name = "geodist",
     .function = geodist_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key member1 member2 [M | KM | FT | MI]",
     .summary = "Returns the distance between two members.",
     .since = "3.2.0",
     .complexity = "O(1)"},
    {.name = "geohash",
     .function = geohash_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [member [member ...]]",
     .summary = "Returns the geohashes of members, in the usual notation.",
     .since = "3.2.0",
     .complexity = "O(N), N members requested"},
    {.name = "geopos",
     .function = geopos_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [member [member ...]]",
     .summary = "Returns the positions of members.",
     .since = "3.2.0",
     .complexity = "O(N), N members requested"},
};

}  // namespace

CommandFamily geo_commands() { return {CommandGroup::kGeo, kGeoCommands}; }

}  // namespace rushgate
