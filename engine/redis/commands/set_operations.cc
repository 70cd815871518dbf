// Intersections, unions and differences: https://redis.io/docs/latest/commands/?group=set
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/sets.h"

namespace rushgate {
namespace {

using Sets = std::vector<const SetValue*>;  // null: no such key

/// Finds the sets at `keys`. Returns false if a key has another type.
bool find_sets(const CommandContext& context, RequestView keys, Sets& sets) {
  for (const std::string_view key : keys) {
    Object* object = nullptr;
    if (!context.find(key, ValueType::kSet, object)) return false;
    sets.push_back(object == nullptr ? nullptr : &object->set());
  }
  return true;
}

/// Sorts sets that are to be intersected by size. Returns false if the intersection is empty
/// because one does not exist.
bool sort_by_size(Sets& sets) {
  if (std::ranges::find(sets, nullptr) != sets.end()) return false;
  std::ranges::sort(sets, {}, &SetValue::size);
  return true;
}

bool is_in_all(std::span<const SetValue* const> sets, std::string_view member) {
  return std::ranges::all_of(sets, [&](const SetValue* set) { return set->contains(member); });
}

SetValue intersection(const Sets& of, const Keyspace& keyspace) {
  SetValue result;
  Sets sets = of;
  if (!sort_by_size(sets)) return result;
  sets.front()->for_each([&](std::string_view member) {
    if (is_in_all(std::span(sets).subspan(1), member))
      result.insert(member, keyspace.limits(), keyspace.seed());
  });
  return result;
}

/// Counts up to `limit` common members; 0: all.
std::uint64_t count_common(Sets sets, std::uint64_t limit) {
  std::uint64_t found = 0;
  if (!sort_by_size(sets)) return found;
  sets.front()->for_each_while([&](std::string_view member) {
    if (is_in_all(std::span(sets).subspan(1), member)) ++found;
    return limit == 0 || found < limit;
  });
  return found;
}

SetValue union_of(const Sets& sets, const Keyspace& keyspace) {
  SetValue result;
  for (const SetValue* const set : sets) {
    if (set != nullptr)
      set->for_each([&](std::string_view member) {
        result.insert(member, keyspace.limits(), keyspace.seed());
      });
  }
  return result;
}

/// Returns true if SDIFF takes fewer steps by removing the other sets' members from a copy of the
/// first set than by searching each of its members in the others. The choice is Redis's, because it
/// determines the encoding of SDIFFSTORE's result.
bool is_copy_faster(const Sets& sets) {
  std::size_t looks = 0;
  std::size_t members = 0;
  for (const SetValue* const set : sets) {
    if (set == nullptr) continue;
    looks += sets.front()->size();
    members += set->size();
  }
  return looks / 2 > members;
}

SetValue difference_by_copy(const Sets& sets, const Keyspace& keyspace) {
  SetValue result;
  sets.front()->for_each(
      [&](std::string_view member) { result.insert(member, keyspace.limits(), keyspace.seed()); });
  for (const SetValue* const set : std::span(sets).subspan(1)) {
    if (set != nullptr) set->for_each([&](std::string_view member) { result.erase(member); });
  }
  return result;
}

SetValue difference(const Sets& sets, const Keyspace& keyspace) {
  SetValue result;
  if (sets.front() == nullptr) return result;
  if (is_copy_faster(sets)) return difference_by_copy(sets, keyspace);
  sets.front()->for_each([&](std::string_view member) {
    const auto has_member = [&](const SetValue* set) {
      return set != nullptr && set->contains(member);
    };
    if (std::none_of(sets.begin() + 1, sets.end(), has_member)) {
      result.insert(member, keyspace.limits(), keyspace.seed());
    }
  });
  return result;
}

using SetOperation = SetValue (*)(const Sets& sets, const Keyspace& keyspace);

/// SINTER, SUNION, SDIFF
Reply show(const CommandContext& context, SetOperation operation) {
  Sets sets;
  if (!find_sets(context, context.request().subspan(1), sets)) return errors::wrong_type();
  const SetValue result = operation(sets, context.keyspace());
  std::vector<Reply> members;
  members.reserve(result.size());
  result.for_each([&](std::string_view member) { members.push_back(Reply::bulk(member)); });
  return Reply::set(std::move(members));
}

/// SINTERSTORE, SUNIONSTORE, SDIFFSTORE
Reply store(const CommandContext& context, SetOperation operation, std::string_view event) {
  Sets sets;
  if (!find_sets(context, context.request().subspan(2), sets)) return errors::wrong_type();
  const SetValue result = operation(sets, context.keyspace());
  Database& db = context.db();
  Object* const old = db.find(context[1]);
  if (result.size() == 0) {
    if (old == nullptr) return Reply::integer(0);
    db.remove(*old);
    context.notify(kGenericEvents, "del", context[1]);
    return Reply::integer(0);
  }
  Object& made = old == nullptr ? sets::create(db, context[1]) : db.replace(*old, SetValue());
  sets::copy(db, made, result);
  context.notify(kSetEvents, event, context[1]);
  return Reply::integer(static_cast<std::int64_t>(result.size()));
}

Reply sinter_command(CommandContext& context) { return show(context, intersection); }

Reply sinterstore_command(CommandContext& context) {
  return store(context, intersection, "sinterstore");
}

Reply sunion_command(CommandContext& context) { return show(context, union_of); }

Reply sunionstore_command(CommandContext& context) {
  return store(context, union_of, "sunionstore");
}

Reply sdiff_command(CommandContext& context) { return show(context, difference); }

Reply sdiffstore_command(CommandContext& context) {
  return store(context, difference, "sdiffstore");
}

Reply sintercard_command(CommandContext& context) {
  const std::int64_t keys = parse_int64(context[1]).value_or(0);
  if (keys < 1) return errors::not_above_zero("numkeys");
  if (keys > static_cast<std::int64_t>(context.size()) - 2) return errors::too_many_keys_counted();
  const auto first_option = static_cast<std::size_t>(keys) + 2;
  Arguments arguments(context.request(), first_option);
  const std::uint64_t limit = arguments.rest_as_limit();
  if (!arguments.ok()) return arguments.take_error();

  Sets sets;
  if (!find_sets(context, context.request().subspan(2, first_option - 2), sets))
    return errors::wrong_type();
  const std::uint64_t found = count_common(std::move(sets), limit);
  return Reply::integer(static_cast<std::int64_t>(found));
}

// ---- The records ----

constexpr CommandSpec kSetOperationCommands[] = {
    {.name = "sinter",
     .function = sinter_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [key ...]",
     .summary = "Returns the intersection of several sets.",
     .since = "1.0.0",
     .complexity = "O(N*M), N members of the smallest set, M sets"},
    {.name = "sinterstore",
     .function = sinterstore_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "destination key [key ...]",
     .summary = "Stores the intersection of several sets.",
     .since = "1.0.0",
     .complexity = "O(N*M), N members of the smallest set, M sets"},
    {.name = "sintercard",
     .function = sintercard_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "numkeys key [key ...] [LIMIT limit]",
     .summary = "Counts the intersection of several sets.",
     .since = "7.0.0",
     .complexity = "O(N*M), N members of the smallest set, M sets"},
    {.name = "sunion",
     .function = sunion_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [key ...]",
     .summary = "Returns the union of several sets.",
     .since = "1.0.0",
     .complexity = "O(N), N members of all sets"},
    {.name = "sunionstore",
     .function = sunionstore_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "destination key [key ...]",
     .summary = "Stores the union of several sets.",
     .since = "1.0.0",
     .complexity = "O(N), N members of all sets"},
    {.name = "sdiff",
     .function = sdiff_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [key ...]",
     .summary = "Returns the difference of the first set and the others.",
     .since = "1.0.0",
     .complexity = "O(N), N members of all sets"},
    {.name = "sdiffstore",
     .function = sdiffstore_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "destination key [key ...]",
     .summary = "Stores the difference of the first set and the others.",
     .since = "1.0.0",
     .complexity = "O(N), N members of all sets"},
};

}  // namespace

CommandFamily set_operation_commands() { return {CommandGroup::kSet, kSetOperationCommands}; }

}  // namespace rushgate
