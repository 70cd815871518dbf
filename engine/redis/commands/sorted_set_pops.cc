// Commands that remove the lowest or highest members of sorted sets, and their blocking forms:
// https://redis.io/docs/latest/commands/?group=sorted-set
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/block_timeout.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/sorted_set_arguments.h"
#include "engine/redis/commands/sorted_set_errors.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

enum class ScoreEnd { kMin, kMax };

/// Removes up to `count` members. The key is removed with its last member.
std::vector<Reply> pop(const CommandContext& context, std::string_view key, Object& object,
                       ScoreEnd end, std::int64_t count, bool nested) {
  const SortedSetValue& value = object.sorted_set();
  std::size_t left = std::min(value.size(), static_cast<std::size_t>(count));
  std::vector<Reply> popped;
  popped.reserve(nested ? left : 2 * left);
  for (; left > 0; --left) {
    const ScoredElement element = value.at(end == ScoreEnd::kMin ? 0 : value.size() - 1);
    const std::string member(element.member);  // copied: the record is written after the removal
    append_pair(popped, member, element.score, nested);
    sorted_sets::remove(context.db(), object, member);
  }
  if (!popped.empty()) {
    context.notify(kSortedSetEvents, end == ScoreEnd::kMin ? "zpopmin" : "zpopmax", key);
    context.notify_if_removed(key);
  }
  return popped;
}

// ---- ZPOPMIN and ZPOPMAX ----

Reply pop_members(CommandContext& context, ScoreEnd end) {
  if (context.size() > 3) return errors::syntax();
  const bool has_count = context.size() == 3;
  const auto count = has_count ? parse_int64(context[2]) : 1;
  if (!count || *count < 0) return errors::not_positive();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::array();
  return Reply::array(pop(context, context[1], *object, end, *count, has_count && context.resp3()));
}

// ---- Out of the first of several keys ----

/// The arguments of a pop, and the form of its reply.
struct PopRequest {
  std::vector<std::string_view> keys;
  ScoreEnd end = ScoreEnd::kMin;
  std::int64_t count = 1;
  bool nested = false;  // [key, [[member, score], …]] instead of [key, member, score]
};

/// Pops from the first key with members and sets the reply. Returns false if there is none.
bool pop_first(CommandContext& context, const PopRequest& request, Reply& reply) {
  for (const std::string_view key : request.keys) {
    Object* object = nullptr;
    if (!context.find(key, ValueType::kSortedSet, object)) {
      reply = errors::wrong_type();
      return true;
    }
    if (object == nullptr) continue;
    std::vector<Reply> replies;
    replies.push_back(Reply::bulk(key));
    std::vector<Reply> popped =
        pop(context, key, *object, request.end, request.count, request.nested);
    if (request.nested) {
      replies.push_back(Reply::array(std::move(popped)));
    } else {
      std::move(popped.begin(), popped.end(), std::back_inserter(replies));
    }
    reply = Reply::array(std::move(replies));
    return true;
  }
  return false;
}

/// A blocked command is served from the signalled key, without regard to the other keys. A key of
/// another type is ignored.
Reply pop_or_wait(CommandContext& context, PopRequest request, std::string_view timeout) {
  Arguments arguments(context.request());
  const std::int64_t timeout_ms = read_timeout_seconds(arguments, timeout);
  if (!arguments.ok()) return arguments.take_error();
  BlockRequest block{
      {request.keys.begin(), request.keys.end()}, timeout_ms, {}, Reply::nil_array()};
  if (const auto key = context.ready_key()) {
    Object* object = nullptr;
    request.keys.clear();
    if (context.find(*key, ValueType::kSortedSet, object)) request.keys.push_back(*key);
  }
  Reply reply;
  if (pop_first(context, request, reply)) return reply;
  block.retry = Request(context.request());
  return context.block(std::move(block));
}

/// numkeys key [key ...] <MIN | MAX> [COUNT count]
PopRequest read_pop_request(Arguments& arguments) {
  PopRequest request;
  request.nested = true;
  const std::int64_t keys = arguments.next_at_least(1, errors::not_above_zero("numkeys"));
  if (static_cast<std::uint64_t>(keys) >= arguments.left()) arguments.fail(errors::syntax());
  for (std::int64_t i = 0; arguments.ok() && i < keys; ++i)
    request.keys.push_back(arguments.next());
  if (arguments.accept("MAX")) {
    request.end = ScoreEnd::kMax;
  } else if (!arguments.accept("MIN")) {
    arguments.fail(errors::syntax());
  }
  if (arguments.at_end()) return request;
  if (arguments.left() < 2 || !arguments.accept("COUNT")) arguments.fail(errors::syntax());
  request.count = arguments.next_at_least(1, errors::not_above_zero("count"));
  if (!arguments.at_end()) arguments.fail(errors::syntax());
  return request;
}

/// Runs BZPOPMIN or BZPOPMAX: the keys, then the timeout.
Reply pop_one_or_wait(CommandContext& context, ScoreEnd end) {
  PopRequest request;
  request.end = end;
  request.keys.assign(context.request().begin() + 1, context.request().end() - 1);
  return pop_or_wait(context, std::move(request), context[context.size() - 1]);
}

Reply zpopmin_command(CommandContext& context) { return pop_members(context, ScoreEnd::kMin); }

Reply zpopmax_command(CommandContext& context) { return pop_members(context, ScoreEnd::kMax); }

Reply zmpop_command(CommandContext& context) {
  Arguments arguments(context.request());
  const PopRequest request = read_pop_request(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Reply reply;
  return pop_first(context, request, reply) ? reply : Reply::nil_array();
}

Reply bzpopmin_command(CommandContext& context) { return pop_one_or_wait(context, ScoreEnd::kMin); }

Reply bzpopmax_command(CommandContext& context) { return pop_one_or_wait(context, ScoreEnd::kMax); }

Reply bzmpop_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  PopRequest request = read_pop_request(arguments);
  if (!arguments.ok()) return arguments.take_error();
  return pop_or_wait(context, std::move(request), context[1]);
}

// ---- The records ----

constexpr CommandSpec kSortedSetPopCommands[] = {
    {.name = "zpopmin",
     .function = zpopmin_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [count]",
     .summary = "Removes and returns the members with the lowest scores.",
     .since = "5.0.0",
     .complexity = "O(M*log N), N members, M taken"},
    {.name = "zpopmax",
     .function = zpopmax_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [count]",
     .summary = "Removes and returns the members with the highest scores.",
     .since = "5.0.0",
     .complexity = "O(M*log N), N members, M taken"},
    {.name = "zmpop",
     .function = zmpop_command,
     .arity = -4,
     .flags = kWrite,
     .syntax = "numkeys key [key ...] <MIN | MAX> [COUNT count]",
     .summary = "Removes and returns members of the first non-empty sorted set.",
     .since = "7.0.0",
     .complexity = "O(K + M*log N), K keys, N members, M taken"},
    {.name = "bzpopmin",
     .function = bzpopmin_command,
     .arity = -3,
     .flags = kWrite | kNoScript | kFast,
     .syntax = "key [key ...] timeout",
     .summary = "Removes and returns the member with the lowest score of one of several sets; "
                "blocks until there is one.",
     .since = "5.0.0",
     .complexity = "O(log N), N members"},
    {.name = "bzpopmax",
     .function = bzpopmax_command,
     .arity = -3,
     .flags = kWrite | kNoScript | kFast,
     .syntax = "key [key ...] timeout",
     .summary = "Removes and returns the member with the highest score of one of several sets; "
                "blocks until there is one.",
     .since = "5.0.0",
     .complexity = "O(log N), N members"},
    {.name = "bzmpop",
     .function = bzmpop_command,
     .arity = -5,
     .flags = kWrite,
     .syntax = "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
     .summary = "Removes and returns members of the first non-empty sorted set; blocks until there "
                "is one.",
     .since = "7.0.0",
     .complexity = "O(K + M*log N), K keys, N members, M taken"},
};

}  // namespace

CommandFamily sorted_set_pop_commands() {
  return {CommandGroup::kSortedSet, kSortedSetPopCommands};
}

}  // namespace rushgate
