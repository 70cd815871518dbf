// Commands on lists, except pops:
// https://redis.io/docs/latest/commands/?group=list
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/lists.h"

namespace rushgate {
namespace {

using lists::End;
using Place = ListValue::Place;

Reply size_reply(Object* list) {
  return Reply::integer(list == nullptr ? 0 : static_cast<std::int64_t>(list->list().size()));
}

// ---- LPUSH and its like ----

Reply push(CommandContext& context, End end) {
  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (list == nullptr) list = &lists::create(context.db(), context[1]);
  for (std::size_t i = 2; i < context.size(); ++i) {
    lists::push(context.db(), *list, end, context[i]);
  }
  context.notify(kListEvents, end == End::kHead ? "lpush" : "rpush", context[1]);
  return size_reply(list);
}

Reply push_if_there(CommandContext& context, End end) {
  const Object* object = context.db().find(context[1]);
  return object == nullptr ? Reply::integer(0) : push(context, end);
}

// ---- Indexes ----

/// Converts an index, which counts from the tail if negative; empty if there is no such element.
std::optional<std::size_t> index_of(std::int64_t index, std::size_t size) {
  if (index < 0) index += static_cast<std::int64_t>(size);
  if (index < 0 || index >= static_cast<std::int64_t>(size)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

struct ElementRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Returns the existing elements from `start` to `stop`.
ElementRange range_of(std::int64_t start, std::int64_t stop, std::size_t size) {
  const auto end = static_cast<std::int64_t>(size);
  if (start < 0) start = std::max(start + end, std::int64_t{0});
  if (stop < 0) stop += end;
  stop = std::min(stop, end - 1);
  if (start > stop) return {};
  return {static_cast<std::size_t>(start), static_cast<std::size_t>(stop - start + 1)};
}

// ---- LPOS ----

struct PositionRequest {
  std::uint64_t rank = 1;  // number of the first match to return
  bool from_tail = false;
  std::optional<std::int64_t> count;  // 0: all
  std::int64_t looks_max = 0;         // 0: none
};

PositionRequest read_position_request(Arguments& arguments) {
  PositionRequest read;
  std::int64_t rank = 1;
  while (!arguments.at_end()) {
    const bool has_value = arguments.left() >= 2;
    if (has_value && arguments.accept("RANK")) {
      rank = arguments.next_integer();
      if (rank == 0) arguments.fail(errors::rank_is_zero());
    } else if (has_value && arguments.accept("COUNT")) {
      read.count = arguments.next_at_least(0, errors::negative_option("COUNT"));
    } else if (has_value && arguments.accept("MAXLEN")) {
      read.looks_max = arguments.next_at_least(0, errors::negative_option("MAXLEN"));
    } else {
      arguments.fail(errors::syntax());
    }
  }
  read.from_tail = rank < 0;
  read.rank = static_cast<std::uint64_t>(read.from_tail ? -(rank + 1) : rank - 1) + 1;
  if (rank == std::numeric_limits<std::int64_t>::min()) {
    // Redis cannot negate this value: no match counts then.
    read.rank = 1;
    if (read.count) read.count = 0;
  }
  return read;
}

/// Returns the matching indexes in the order in which they were found.
std::vector<Reply> find_positions(const ListValue& list, const PositionRequest& request,
                                  const MaybeInteger& element) {
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t looks = request.looks_max == 0 ? size : std::min(size, request.looks_max);
  const auto wanted = static_cast<std::size_t>(request.count.value_or(1));
  std::vector<Reply> found;
  std::uint64_t matches = 0;
  Place place = request.from_tail ? list.end() : list.begin();
  for (std::int64_t i = 0; i < looks; ++i) {
    if (request.from_tail) place = list.previous(place);
    if (list.equals(place, element) && ++matches >= request.rank) {
      found.push_back(Reply::integer(request.from_tail ? size - 1 - i : i));
      if (found.size() == wanted) break;
    }
    if (!request.from_tail) place = list.next(place);
  }
  return found;
}

// ---- LINSERT ----

/// Returns the index of the first element that equals `element`.
std::optional<std::size_t> find_first(const ListValue& list, const MaybeInteger& element) {
  std::size_t index = 0;
  for (Place place = list.begin(); place != list.end(); place = list.next(place), ++index) {
    if (list.equals(place, element)) return index;
  }
  return std::nullopt;
}

Reply lpush_command(CommandContext& context) { return push(context, End::kHead); }

Reply rpush_command(CommandContext& context) { return push(context, End::kTail); }

Reply lpushx_command(CommandContext& context) { return push_if_there(context, End::kHead); }

Reply rpushx_command(CommandContext& context) { return push_if_there(context, End::kTail); }

Reply llen_command(CommandContext& context) {
  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  return size_reply(list);
}

Reply lindex_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kList, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::nil();
  Arguments arguments(context.request(), 2);
  const std::int64_t wanted = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();

  const ListValue& list = object->list();
  const auto index = index_of(wanted, list.size());
  return index ? Reply::bulk(list.element(list.place_of(*index))) : Reply::nil();
}

Reply lrange_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t start = arguments.next_integer();
  const std::int64_t stop = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kList, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::array();
  const ListValue& list = object->list();
  const ElementRange range = range_of(start, stop, list.size());
  std::vector<Reply> elements;
  elements.reserve(range.count);
  list.for_each(range.first, range.count, [&](ListPosition, std::string element) {
    elements.push_back(Reply::bulk(std::move(element)));
  });
  return Reply::array(std::move(elements));
}

Reply lset_command(CommandContext& context) {
  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (list == nullptr) return errors::no_such_key();
  Arguments arguments(context.request(), 2);
  const std::int64_t wanted = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();

  const auto index = index_of(wanted, list->list().size());
  if (!index) return errors::index_out_of_range();
  lists::set(context.db(), *list, *index, context[3]);
  context.notify(kListEvents, "lset", context[1]);
  return Reply::ok();
}

Reply linsert_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const bool is_after = arguments.accept("AFTER");
  if (!is_after && !arguments.accept("BEFORE")) return errors::syntax();

  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (list == nullptr) return Reply::integer(0);
  const auto pivot = find_first(list->list(), context[3]);
  if (!pivot) return Reply::integer(-1);
  lists::insert(context.db(), *list, is_after ? *pivot + 1 : *pivot, context[4]);
  context.notify(kListEvents, "linsert", context[1]);
  return size_reply(list);
}

Reply lrem_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t count = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();

  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (list == nullptr) return Reply::integer(0);
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const auto magnitude = static_cast<std::uint64_t>(count < 0 ? -(count + 1) : count - 1) + 1;
  const std::size_t removed =
      lists::remove_equal(context.db(), *list, context[3], count < 0 ? End::kTail : End::kHead,
                          count == 0 ? kAll : magnitude);
  if (removed > 0) {
    context.notify(kListEvents, "lrem", context[1]);
    context.notify_if_removed(context[1]);
  }
  return Reply::integer(static_cast<std::int64_t>(removed));
}

Reply ltrim_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  const std::int64_t start = arguments.next_integer();
  const std::int64_t stop = arguments.next_integer();
  if (!arguments.ok()) return arguments.take_error();

  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  if (list == nullptr) return Reply::ok();
  const std::size_t size = list->list().size();
  const ElementRange kept = range_of(start, stop, size);
  if (kept.count == 0) {
    context.db().remove(*list);
  } else {
    const std::size_t end = kept.first + kept.count;
    lists::remove_range(context.db(), *list, end, size - end);
    lists::remove_range(context.db(), *list, 0, kept.first);
  }
  context.notify(kListEvents, "ltrim", context[1]);
  context.notify_if_removed(context[1]);
  return Reply::ok();
}

Reply lpos_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  const PositionRequest request = read_position_request(arguments);
  if (!arguments.ok()) return arguments.take_error();

  Object* list = nullptr;
  if (!context.find(context[1], ValueType::kList, list)) return errors::wrong_type();
  std::vector<Reply> found;
  if (list != nullptr) found = find_positions(list->list(), request, context[2]);
  if (request.count) return Reply::array(std::move(found));
  return found.empty() ? Reply::nil() : std::move(found.front());
}

// ---- The records ----

constexpr CommandSpec kListCommands[] = {
    {.name = "lpush",
     .function = lpush_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key element [element ...]",
     .summary = "Prepends elements to a list.",
     .since = "1.0.0",
     .complexity = "O(N), N elements"},
    {.name = "rpush",
     .function = rpush_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key element [element ...]",
     .summary = "Appends elements to a list.",
     .since = "1.0.0",
     .complexity = "O(N), N elements"},
    {.name = "lpushx",
     .function = lpushx_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key element [element ...]",
     .summary = "Prepends elements to an existing list.",
     .since = "2.2.0",
     .complexity = "O(N), N elements"},
    {.name = "rpushx",
     .function = rpushx_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key element [element ...]",
     .summary = "Appends elements to an existing list.",
     .since = "2.2.0",
     .complexity = "O(N), N elements"},
    {.name = "llen",
     .function = llen_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Counts the elements.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "lindex",
     .function = lindex_command,
     .arity = 3,
     .flags = kReadOnly,
     .syntax = "key index",
     .summary = "Returns the element at a position.",
     .since = "1.0.0",
     .complexity = "O(N), N elements passed over"},
    {.name = "lrange",
     .function = lrange_command,
     .arity = 4,
     .flags = kReadOnly,
     .syntax = "key start stop",
     .summary = "Returns the elements between two positions.",
     .since = "1.0.0",
     .complexity = "O(S+N), S elements passed over, N returned"},
    {.name = "lset",
     .function = lset_command,
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .syntax = "key index element",
     .summary = "Replaces the element at a position.",
     .since = "1.0.0",
     .complexity = "O(N), N elements of the list"},
    {.name = "linsert",
     .function = linsert_command,
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .syntax = "key <BEFORE | AFTER> pivot element",
     .summary = "Inserts an element before or after another.",
     .since = "2.2.0",
     .complexity = "O(N), N elements before the place"},
    {.name = "lrem",
     .function = lrem_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key count element",
     .summary = "Removes elements that are equal to a value.",
     .since = "1.0.0",
     .complexity = "O(N+M), N elements of the list, M removed"},
    {.name = "ltrim",
     .function = ltrim_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key start stop",
     .summary = "Keeps only the elements between two positions.",
     .since = "1.0.0",
     .complexity = "O(N), N elements removed"},
    {.name = "lpos",
     .function = lpos_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
     .summary = "Finds positions of elements that are equal to a value.",
     .since = "6.0.6",
     .complexity = "O(N), N elements of the list"},
};

}  // namespace

CommandFamily list_commands() { return {CommandGroup::kList, kListCommands}; }

}  // namespace rushgate
