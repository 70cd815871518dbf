// Commands on sets: https://redis.io/docs/latest/commands/?group=set
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/drawing.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/sets.h"

namespace rushgate {
namespace {

Reply membership_reply(Object* set, std::string_view member) {
  return Reply::integer(set != nullptr && set->set().contains(member) ? 1 : 0);
}

// ---- SPOP ----

Reply bulks(std::vector<std::string> texts, Reply (*aggregate)(std::vector<Reply>)) {
  std::vector<Reply> replies;
  replies.reserve(texts.size());
  for (std::string& text : texts) replies.push_back(Reply::bulk(std::move(text)));
  return aggregate(std::move(replies));
}

/// Removes all members except a few, which become a new set. This is cheaper than removing the
/// others one by one.
std::vector<std::string> pop_all_but(CommandContext& context, Object& object, std::size_t left) {
  std::vector<std::string> stay = draw_different(object.set(), left, context.keyspace().random());
  std::vector<std::string> popped;
  SetValue kept;
  for (const std::string& member : stay) {
    kept.insert(member, context.keyspace().limits(), context.keyspace().seed());
  }
  object.set().for_each([&](std::string_view member) {
    if (!kept.contains(member)) popped.emplace_back(member);
  });
  const std::int64_t expire_at_ms = object.expire_at_ms();
  if (left == 0) {
    context.db().remove(object);
    return popped;
  }
  Object& made = context.db().replace(object, SetValue());
  for (const std::string& member : stay) sets::add(context.db(), made, member);
  context.db().set_expiry(made, expire_at_ms);
  return popped;
}

void notify_pop(const CommandContext& context) {
  context.notify(kSetEvents, "spop", context[1]);
  context.notify_if_removed(context[1]);
}

std::vector<std::string> pop(CommandContext& context, Object& object, std::size_t count) {
  constexpr std::size_t kManyTimes = 5;  // above this factor, as in Redis, a new set is made
  const std::size_t size = object.set().size();
  const std::size_t left = size - std::min(size, count);
  if (left * kManyTimes <= count) return pop_all_but(context, object, left);
  std::vector<std::string> popped =
      draw_different(object.set(), count, context.keyspace().random());
  for (const std::string& member : popped) sets::remove(context.db(), object, member);
  return popped;
}

Reply sadd_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) set = &sets::create(context.db(), context[1]);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    if (sets::add(context.db(), *set, context[i])) ++added;
  }
  if (added > 0) context.notify(kSetEvents, "sadd", context[1]);
  return Reply::integer(added);
}

Reply srem_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) return Reply::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    const bool is_last = set->set().size() == 1;
    if (!sets::remove(context.db(), *set, context[i])) continue;
    ++removed;
    if (is_last) break;  // the last member: the key is gone
  }
  if (removed > 0) {
    context.notify(kSetEvents, "srem", context[1]);
    context.notify_if_removed(context[1]);
  }
  return Reply::integer(removed);
}

Reply sismember_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  return membership_reply(set, context[2]);
}

Reply smismember_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  std::vector<Reply> memberships;
  memberships.reserve(context.size() - 2);
  for (std::size_t i = 2; i < context.size(); ++i)
    memberships.push_back(membership_reply(set, context[i]));
  return Reply::array(std::move(memberships));
}

Reply scard_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  return Reply::integer(set == nullptr ? 0 : static_cast<std::int64_t>(set->set().size()));
}

Reply smembers_command(CommandContext& context) {
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (set == nullptr) return Reply::set();
  std::vector<Reply> members;
  members.reserve(set->set().size());
  set->set().for_each([&](std::string_view member) { members.push_back(Reply::bulk(member)); });
  return Reply::set(std::move(members));
}

Reply smove_command(CommandContext& context) {
  Object* from = context.db().find(context[1]);
  Object* to = context.db().find(context[2]);
  if (from == nullptr) return Reply::integer(0);
  for (const Object* const object : {from, to}) {
    if (object != nullptr && object->type() != ValueType::kSet) return errors::wrong_type();
  }
  const std::string_view member = context[3];
  if (from == to || !from->set().contains(member)) return membership_reply(from, member);
  sets::remove(context.db(), *from, member);
  context.notify(kSetEvents, "srem", context[1]);
  context.notify_if_removed(context[1]);
  if (to == nullptr) to = &sets::create(context.db(), context[2]);
  if (sets::add(context.db(), *to, member)) context.notify(kSetEvents, "sadd", context[2]);
  return Reply::integer(1);
}

Reply spop_command(CommandContext& context) {
  if (context.size() > 3) return errors::syntax();
  const bool has_count = context.size() == 3;
  const std::int64_t count = has_count ? parse_int64(context[2]).value_or(-1) : 1;
  if (count < 0) return errors::not_positive();
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  if (!has_count) {
    if (set == nullptr) return Reply::nil();
    std::string member = set->set().draw(context.keyspace().random());
    sets::remove(context.db(), *set, member);
    notify_pop(context);
    return Reply::bulk(std::move(member));
  }
  if (set == nullptr || count == 0) return Reply::set();
  std::vector<std::string> popped = pop(context, *set, static_cast<std::size_t>(count));
  notify_pop(context);
  return bulks(std::move(popped), &Reply::set);
}

Reply srandmember_command(CommandContext& context) {
  if (context.size() > 3) return errors::syntax();
  const bool has_count = context.size() == 3;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Arguments arguments(context.request(), 2);
  const std::int64_t count = has_count ? arguments.next_integer(-kMax, kMax) : 1;
  if (!arguments.ok()) return arguments.take_error();
  Object* set = nullptr;
  if (!context.find(context[1], ValueType::kSet, set)) return errors::wrong_type();
  Random& random = context.keyspace().random();
  if (set == nullptr) return has_count ? Reply::array() : Reply::nil();
  if (!has_count) return Reply::bulk(set->set().draw(random));
  if (count < -kDrawsMax) return errors::value_out_of_range();
  auto drawn = draw(set->set(), count, random, context.session().reply_bytes_max);
  return drawn ? bulks(*std::move(drawn), &Reply::array) : errors::reply_too_large();
}

// ---- The records ----

constexpr CommandSpec kSetCommands[] = {
    {.name = "sadd",
     .function = sadd_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key member [member ...]",
     .summary = "Adds members to a set.",
     .since = "1.0.0",
     .complexity = "O(N), N members"},
    {.name = "srem",
     .function = srem_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key member [member ...]",
     .summary = "Removes members from a set.",
     .since = "1.0.0",
     .complexity = "O(N), N members to remove"},
    {.name = "sismember",
     .function = sismember_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key member",
     .summary = "Returns 1 if a set has a member.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "smismember",
     .function = smismember_command,
     .arity = -3,
     .flags = kReadOnly | kFast,
     .syntax = "key member [member ...]",
     .summary = "Returns for each of several members whether a set has it.",
     .since = "6.2.0",
     .complexity = "O(N), N members requested"},
    {.name = "scard",
     .function = scard_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Counts the members.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "smembers",
     .function = smembers_command,
     .arity = 2,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns all members.",
     .since = "1.0.0",
     .complexity = "O(N), N members of the set"},
    {.name = "smove",
     .function = smove_command,
     .arity = 4,
     .flags = kWrite | kFast,
     .syntax = "source destination member",
     .summary = "Moves a member from one set to another.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "spop",
     .function = spop_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [count]",
     .summary = "Removes and returns random members.",
     .since = "1.0.0",
     .complexity = "O(N), N members taken"},
    {.name = "srandmember",
     .function = srandmember_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [count]",
     .summary = "Returns random members.",
     .since = "1.0.0",
     .complexity = "O(N), N members returned"},
};

}  // namespace

CommandFamily set_commands() { return {CommandGroup::kSet, kSetCommands}; }

}  // namespace rushgate
