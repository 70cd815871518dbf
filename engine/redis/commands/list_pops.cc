// Commands that remove elements from the ends of lists, and their blocking forms:
// https://redis.io/docs/latest/commands/?group=list
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/block_timeout.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/lists.h"

namespace rushgate {
namespace {

using lists::End;

/// Publishes that elements were popped from an end.
void notify_pop(const CommandContext& context, End end, std::string_view key) {
  context.notify(kListEvents, end == End::kHead ? "lpop" : "rpop", key);
  context.notify_if_removed(key);
}

/// Pops an element. The key is removed with its last element.
std::string pop_element(const CommandContext& context, std::string_view key, Object& object,
                        End end) {
  std::string element = lists::pop(context.db(), object, end);
  notify_pop(context, end, key);
  return element;
}

/// Pops up to `count` elements from an end. The key is removed with its last element.
Reply pop_reply(const CommandContext& context, std::string_view key, Object& object, End end,
                std::int64_t count) {
  const ListValue& list = object.list();
  const std::size_t size = list.size();
  const std::size_t popped = std::min(size, static_cast<std::size_t>(count));
  const std::size_t first = end == End::kHead ? 0 : size - popped;
  std::vector<Reply> elements;
  elements.reserve(popped);
  list.for_each(first, popped, [&](ListPosition, std::string element) {
    elements.push_back(Reply::bulk(std::move(element)));
  });
  if (end == End::kTail) std::ranges::reverse(elements);
  if (popped > 0) {
    lists::remove_range(context.db(), object, first, popped);
    notify_pop(context, end, key);
  }
  return Reply::array(std::move(elements));
}

Reply pair_reply(std::string_view key, Reply popped) {
  std::vector<Reply> pair;
  pair.reserve(2);
  pair.push_back(Reply::bulk(key));
  pair.push_back(std::move(popped));
  return Reply::array(std::move(pair));
}

/// Reads LEFT or RIGHT.
End read_end(Arguments& arguments) {
  if (arguments.accept("LEFT")) return End::kHead;
  if (!arguments.accept("RIGHT")) arguments.fail(errors::syntax());
  return End::kTail;
}

// ---- LPOP and RPOP ----

Reply pop(CommandContext& context, std::string_view command, End end) {
  if (context.size() > 3) return errors::wrong_arity(command);
  const bool has_count = context.size() == 3;
  Arguments arguments(context.request(), 2);
  const std::int64_t count = has_count ? arguments.next_at_least(0, errors::not_positive()) : 1;
  if (!arguments.ok()) return arguments.take_error();

  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (has_count) {
    return list == nullptr ? Reply::nil_array() : pop_reply(context, context[1], *list, end, count);
  }
  return list == nullptr ? Reply::nil() : Reply::bulk(pop_element(context, context[1], *list, end));
}

// ---- From the first of several lists ----

/// A range of a command's arguments.
struct Keys {
  std::size_t first;
  std::size_t count;
};

struct FoundList {
  std::string_view key;
  Object* list = nullptr;  // null: there is none
};

/// Finds the first list among the keys; empty if a key with another type comes first.
std::optional<FoundList> find_list(const CommandContext& context, const Keys& keys) {
  FoundList found;
  for (std::size_t i = keys.first; i < keys.first + keys.count; ++i) {
    found.key = context[i];
    if (!context.may_serve(found.key)) continue;
    const bool fits = context.find(found.key, ValueType::kList, found.list);
    // A client blocked on a list stays blocked when another type replaces it.
    if (!fits && !context.ready_key()) return std::nullopt;
    if (found.list != nullptr) break;
  }
  return found;
}

Reply wait_for_list(CommandContext& context, const Keys& keys, std::int64_t timeout_ms) {
  BlockRequest block{.keys = {},
                     .timeout_ms = timeout_ms,
                     .retry = Request(context.request()),
                     .on_timeout = Reply::nil_array()};
  for (std::size_t i = 0; i < keys.count; ++i) block.keys.emplace_back(context[keys.first + i]);
  return context.block(std::move(block));
}

Reply blocking_pop(CommandContext& context, End end) {
  Arguments arguments(context.request());
  const std::int64_t timeout_ms = read_timeout_seconds(arguments, context[context.size() - 1]);
  if (!arguments.ok()) return arguments.take_error();
  const Keys keys{1, context.size() - 2};
  const auto found = find_list(context, keys);
  if (!found) return errors::wrong_type();
  if (found->list == nullptr) return wait_for_list(context, keys, timeout_ms);
  return pair_reply(found->key, Reply::bulk(pop_element(context, found->key, *found->list, end)));
}

struct MultiPop {
  Keys keys;
  End end;
  std::int64_t count = 1;
};

/// numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
MultiPop read_multi_pop(Arguments& arguments, std::size_t first_key) {
  const std::int64_t keys = arguments.next_at_least(1, errors::not_above_zero("numkeys"));
  const auto key_count = static_cast<std::size_t>(keys);
  if (arguments.left() <= key_count) arguments.fail(errors::syntax());
  if (arguments.ok()) arguments.skip(key_count);
  MultiPop pop{.keys = {first_key, key_count}, .end = read_end(arguments)};
  bool has_count = false;
  while (!arguments.at_end()) {
    if (has_count || arguments.left() < 2 || !arguments.accept("COUNT")) {
      arguments.fail(errors::syntax());
    }
    pop.count = arguments.next_at_least(1, errors::not_above_zero("count"));
    has_count = true;
  }
  return pop;
}

// ---- From a list to a list ----

struct Move {
  std::string_view from;
  std::string_view to;
  End from_end;
  End to_end;
};

Reply move_element(CommandContext& context, const Move& move, Object& source) {
  Object* destination = nullptr;
  if (!context.find(move.to, ValueType::kList, destination)) return errors::wrong_type();
  Database& db = context.db();
  const std::string element = lists::peek(source.list(), move.from_end);
  if (destination == nullptr) destination = &lists::create(db, move.to);
  // Pushes first: if both are the same list with one element, the key must not be removed in
  // between.
  lists::push(db, *destination, move.to_end, element);
  context.notify(kListEvents, move.to_end == End::kHead ? "lpush" : "rpush", move.to);
  pop_element(context, move.from, source, move.from_end);
  return Reply::bulk(element);
}

Reply move_at_once(CommandContext& context, const Move& move) {
  Object* source = nullptr;
  if (!context.find(move.from, ValueType::kList, source)) return errors::wrong_type();
  return source == nullptr ? Reply::nil() : move_element(context, move, *source);
}

Reply move_or_wait(CommandContext& context, const Move& move, std::string_view timeout) {
  Arguments arguments(context.request());
  const std::int64_t timeout_ms = read_timeout_seconds(arguments, timeout);
  if (!arguments.ok()) return arguments.take_error();
  const Keys keys{1, 1};
  const auto found = find_list(context, keys);
  if (!found) return errors::wrong_type();
  if (found->list != nullptr) return move_element(context, move, *found->list);
  if (!context.may_wait()) return Reply::nil();  // differs from its reply on timeout
  return wait_for_list(context, keys, timeout_ms);
}

/// source destination <LEFT | RIGHT> <LEFT | RIGHT>
Move read_move(Arguments& arguments) {
  Move move{};
  move.from = arguments.next();
  move.to = arguments.next();
  move.from_end = read_end(arguments);
  move.to_end = read_end(arguments);
  return move;
}

Move from_tail_to_head(const CommandContext& context) {
  return {.from = context[1], .to = context[2], .from_end = End::kTail, .to_end = End::kHead};
}

Reply lpop_command(CommandContext& context) { return pop(context, "lpop", End::kHead); }

Reply rpop_command(CommandContext& context) { return pop(context, "rpop", End::kTail); }

Reply lmpop_command(CommandContext& context) {
  Arguments arguments(context.request());
  const MultiPop pop = read_multi_pop(arguments, 2);
  if (!arguments.ok()) return arguments.take_error();
  const auto found = find_list(context, pop.keys);
  if (!found) return errors::wrong_type();
  if (found->list == nullptr) return Reply::nil_array();
  return pair_reply(found->key, pop_reply(context, found->key, *found->list, pop.end, pop.count));
}

Reply lmove_command(CommandContext& context) {
  Arguments arguments(context.request());
  const Move move = read_move(arguments);
  if (!arguments.ok()) return arguments.take_error();
  return move_at_once(context, move);
}

Reply rpoplpush_command(CommandContext& context) {
  return move_at_once(context, from_tail_to_head(context));
}

Reply blpop_command(CommandContext& context) { return blocking_pop(context, End::kHead); }

Reply brpop_command(CommandContext& context) { return blocking_pop(context, End::kTail); }

Reply blmpop_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const MultiPop pop = read_multi_pop(arguments, 3);
  const std::int64_t timeout_ms = read_timeout_seconds(arguments, context[1]);
  if (!arguments.ok()) return arguments.take_error();
  const auto found = find_list(context, pop.keys);
  if (!found) return errors::wrong_type();
  if (found->list == nullptr) return wait_for_list(context, pop.keys, timeout_ms);
  return pair_reply(found->key, pop_reply(context, found->key, *found->list, pop.end, pop.count));
}

Reply blmove_command(CommandContext& context) {
  Arguments arguments(context.request());
  const Move move = read_move(arguments);
  if (!arguments.ok()) return arguments.take_error();
  return move_or_wait(context, move, context[5]);
}

Reply brpoplpush_command(CommandContext& context) {
  return move_or_wait(context, from_tail_to_head(context), context[3]);
}

// ---- The records ----

constexpr CommandSpec kListPopCommands[] = {
    {.name = "lpop",
     .function = lpop_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [count]",
     .summary = "Removes and returns the first elements.",
     .since = "1.0.0",
     .complexity = "O(N), N elements taken"},
    {.name = "rpop",
     .function = rpop_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [count]",
     .summary = "Removes and returns the last elements.",
     .since = "1.0.0",
     .complexity = "O(N), N elements taken"},
    {.name = "lmpop",
     .function = lmpop_command,
     .arity = -4,
     .flags = kWrite,
     .syntax = "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
     .summary = "Removes and returns elements of the first non-empty list.",
     .since = "7.0.0",
     .complexity = "O(N+M), N keys, M elements taken"},
    {.name = "lmove",
     .function = lmove_command,
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
     .summary = "Moves an element from an end of a list to an end of another.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "rpoplpush",
     .function = rpoplpush_command,
     .arity = 3,
     .flags = kWrite | kDenyOom,
     .syntax = "source destination",
     .summary = "Moves the last element of a list to the front of another.",
     .since = "1.2.0",
     .complexity = "O(1)",
     .deprecated_since = "6.2.0",
     .replaced_by = "LMOVE with RIGHT and LEFT"},
    {.name = "blpop",
     .function = blpop_command,
     .arity = -3,
     .flags = kWrite | kNoScript,
     .syntax = "key [key ...] timeout",
     .summary = "Removes and returns the first element of one of several lists; blocks until there "
                "is one.",
     .since = "2.0.0",
     .complexity = "O(N), N keys"},
    {.name = "brpop",
     .function = brpop_command,
     .arity = -3,
     .flags = kWrite | kNoScript,
     .syntax = "key [key ...] timeout",
     .summary =
         "Removes and returns the last element of one of several lists; blocks until there is one.",
     .since = "2.0.0",
     .complexity = "O(N), N keys"},
    {.name = "blmpop",
     .function = blmpop_command,
     .arity = -5,
     .flags = kWrite,
     .syntax = "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
     .summary =
         "Removes and returns elements of the first non-empty list; blocks until there is one.",
     .since = "7.0.0",
     .complexity = "O(N+M), N keys, M elements taken"},
    {.name = "blmove",
     .function = blmove_command,
     .arity = 6,
     .flags = kWrite | kDenyOom | kNoScript,
     .syntax = "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
     .summary = "Moves an element between ends of lists; blocks until there is one.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "brpoplpush",
     .function = brpoplpush_command,
     .arity = 4,
     .flags = kWrite | kDenyOom | kNoScript,
     .syntax = "source destination timeout",
     .summary =
         "Moves the last element of a list to the front of another; blocks until there is one.",
     .since = "2.2.0",
     .complexity = "O(1)",
     .deprecated_since = "6.2.0",
     .replaced_by = "BLMOVE with RIGHT and LEFT"},
};

}  // namespace

CommandFamily list_pop_commands() { return {CommandGroup::kList, kListPopCommands}; }

}  // namespace rushgate
