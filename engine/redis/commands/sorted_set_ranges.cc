// Commands on ranges of a sorted set: https://redis.io/docs/latest/commands/?group=sorted-set
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/sorted_set_arguments.h"
#include "engine/redis/commands/sorted_set_errors.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

// ---- Arguments of ranges ----

enum class RangeBy { kUnsaid, kIndex, kScore, kLex };
enum class Direction { kUnsaid, kUp, kDown };

/// The properties of the command's name, and its options.
struct RangeOptions {
  RangeBy by = RangeBy::kUnsaid;
  Direction direction = Direction::kUnsaid;
  bool with_scores = false;
  std::int64_t offset = 0;
  std::int64_t limit = -1;  // negative: no limit

  [[nodiscard]] bool is_down() const { return direction == Direction::kDown; }
};

using Range = std::variant<IndexRange, ScoreRange, LexRange>;

/// Reads all options. `stores`: the command stores its result, so WITHSCORES is invalid.
void read_options(Arguments& arguments, RangeOptions& options, bool stores) {
  while (!arguments.at_end()) {
    if (!stores && arguments.accept("WITHSCORES")) {
      options.with_scores = true;
    } else if (arguments.left() >= 3 && arguments.accept("LIMIT")) {
      options.offset = arguments.next_integer();
      options.limit = arguments.next_integer();
    } else if (options.direction == Direction::kUnsaid && arguments.accept("REV")) {
      options.direction = Direction::kDown;
    } else if (options.by == RangeBy::kUnsaid && arguments.accept("BYLEX")) {
      options.by = RangeBy::kLex;
    } else if (options.by == RangeBy::kUnsaid && arguments.accept("BYSCORE")) {
      options.by = RangeBy::kScore;
    } else {
      arguments.fail(errors::syntax());
    }
  }
  const bool by_bounds = options.by == RangeBy::kScore || options.by == RangeBy::kLex;
  if (options.limit != -1 && !by_bounds) arguments.fail(errors::limit_without_bounds());
  if (options.with_scores && options.by == RangeBy::kLex) arguments.fail(errors::scores_by_lex());
}

/// Descending ranges take bounds as max and min; positions stay in order.
Range read_range(Arguments& arguments, const RangeOptions& options, std::string_view from,
                 std::string_view to) {
  const std::string_view min = options.is_down() ? to : from;
  const std::string_view max = options.is_down() ? from : to;
  switch (options.by) {
    case RangeBy::kScore:
      return read_score_range(arguments, min, max);
    case RangeBy::kLex:
      return read_lex_range(arguments, min, max);
    default:
      return read_index_range(arguments, from, to);
  }
}

/// Returns the same positions, counted from the other end.
RankRange mirrored(RankRange ranks, std::size_t size) {
  return {size - ranks.last, size - ranks.first};
}

/// Applies LIMIT, counted from the first element of the reply.
RankRange limited(RankRange ranks, const RangeOptions& options) {
  if (options.offset < 0 || static_cast<std::uint64_t>(options.offset) >= ranks.size()) return {};
  const auto skipped = static_cast<std::size_t>(options.offset);
  std::size_t left = ranks.size() - skipped;
  if (options.limit >= 0) left = std::min(left, static_cast<std::size_t>(options.limit));
  if (options.is_down()) {
    const std::size_t last = ranks.last - skipped;
    return {last - left, last};
  }
  return {ranks.first + skipped, ranks.first + skipped + left};
}

RankRange ranks_of(const SortedSetValue& value, const Range& range, const RangeOptions& options) {
  if (const auto* index = std::get_if<IndexRange>(&range)) {
    const RankRange ranks = index->ranks_in(value);
    if (ranks.empty()) return {};
    return options.is_down() ? mirrored(ranks, value.size()) : ranks;
  }
  const RankRange ranks = std::holds_alternative<ScoreRange>(range)
                              ? std::get<ScoreRange>(range).ranks_in(value)
                              : std::get<LexRange>(range).ranks_in(value);
  return limited(ranks, options);
}

template <class Visit>
void visit_ranks(const SortedSetValue& value, RankRange ranks, const RangeOptions& options,
                 Visit visit) {
  if (options.is_down()) {
    value.for_each_back(ranks.first, ranks.last, visit);
  } else {
    value.for_each(ranks.first, ranks.last, visit);
  }
}

// ---- ZRANGE and its relatives ----

Reply range_reply(CommandContext& context, RangeOptions options) {
  Arguments arguments(context.request(), 4);
  read_options(arguments, options, false);
  const Range range = read_range(arguments, options, context[2], context[3]);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::array();

  const SortedSetValue& value = object->sorted_set();
  const RankRange ranks = ranks_of(value, range, options);
  MembersReply reply(context, options.with_scores, ranks.size());
  visit_ranks(value, ranks, options,
              [&](const ScoredElement& element) { reply.add(element.member, element.score); });
  return reply.take();
}

// ---- Counting and removing ----

template <class Range>
using ReadRange = Range (*)(Arguments&, std::string_view, std::string_view);

/// Reads the ranks of `key from to`. Returns false after setting the reply, if there is no sorted
/// set.
template <class Range>
bool find_ranks(CommandContext& context, ReadRange<Range> read, Object*& object, RankRange& ranks,
                Reply& other_reply) {
  Arguments arguments(context.request());
  const Range range = read(arguments, context[2], context[3]);
  if (!arguments.ok()) {
    other_reply = arguments.take_error();
  } else if (!context.find(context[1], ValueType::kSortedSet, object)) {
    other_reply = errors::wrong_type();
  } else if (object == nullptr) {
    other_reply = Reply::integer(0);
  } else {
    ranks = range.ranks_in(object->sorted_set());
    return true;
  }
  return false;
}

template <class Range>
Reply count(CommandContext& context, ReadRange<Range> read) {
  Object* object = nullptr;
  RankRange ranks;
  Reply other_reply;
  if (!find_ranks(context, read, object, ranks, other_reply)) return other_reply;
  return Reply::integer(static_cast<std::int64_t>(ranks.size()));
}

template <class Range>
Reply remove(CommandContext& context, ReadRange<Range> read, std::string_view event) {
  Object* object = nullptr;
  RankRange ranks;
  Reply other_reply;
  if (!find_ranks(context, read, object, ranks, other_reply)) return other_reply;
  std::vector<std::string> members;
  members.reserve(ranks.size());
  object->sorted_set().for_each(ranks.first, ranks.last, [&](const ScoredElement& element) {
    members.emplace_back(element.member);
  });
  for (const std::string& member : members)
    sorted_sets::remove(context.db(), *object, member);  // removes the key with its last member
  if (!members.empty()) {
    context.notify(kSortedSetEvents, event, context[1]);
    context.notify_if_removed(context[1]);
  }
  return Reply::integer(static_cast<std::int64_t>(members.size()));
}

Reply zrange_command(CommandContext& context) { return range_reply(context, {}); }

Reply zrevrange_command(CommandContext& context) {
  return range_reply(context, {RangeBy::kIndex, Direction::kDown});
}

Reply zrangebyscore_command(CommandContext& context) {
  return range_reply(context, {RangeBy::kScore, Direction::kUp});
}

Reply zrevrangebyscore_command(CommandContext& context) {
  return range_reply(context, {RangeBy::kScore, Direction::kDown});
}

Reply zrangebylex_command(CommandContext& context) {
  return range_reply(context, {RangeBy::kLex, Direction::kUp});
}

Reply zrevrangebylex_command(CommandContext& context) {
  return range_reply(context, {RangeBy::kLex, Direction::kDown});
}

Reply zrangestore_command(CommandContext& context) {
  Arguments arguments(context.request(), 5);
  RangeOptions options;
  read_options(arguments, options, true);
  const Range range = read_range(arguments, options, context[3], context[4]);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[2], ValueType::kSortedSet, object)) return errors::wrong_type();

  std::vector<sorted_sets::ScoredMember> members;
  if (object != nullptr) {
    const SortedSetValue& value = object->sorted_set();
    const RankRange ranks = ranks_of(value, range, options);
    members.reserve(ranks.size());
    value.for_each(ranks.first, ranks.last, [&](const ScoredElement& element) {
      members.push_back({std::string(element.member), element.score});
    });
  }
  if (options.is_down()) std::ranges::reverse(members);
  // Redis knows the size of the result in advance only for ranges of ranks.
  const bool fits =
      static_cast<std::int64_t>(members.size()) <= context.keyspace().limits().zset_entries;
  const bool is_of_ranks = std::holds_alternative<IndexRange>(range);
  return store_reply(context, "zrangestore", members, fits || !is_of_ranks);
}

Reply zcount_command(CommandContext& context) { return count(context, read_score_range); }

Reply zlexcount_command(CommandContext& context) { return count(context, read_lex_range); }

Reply zremrangebyrank_command(CommandContext& context) {
  return remove(context, read_index_range, "zremrangebyrank");
}

Reply zremrangebyscore_command(CommandContext& context) {
  return remove(context, read_score_range, "zremrangebyscore");
}

Reply zremrangebylex_command(CommandContext& context) {
  return remove(context, read_lex_range, "zremrangebylex");
}

// ---- The records ----

constexpr CommandSpec kSortedSetRangeCommands[] = {
    {.name = "zcount",
     .function = zcount_command,
     .arity = 4,
     .flags = kReadOnly | kFast,
     .syntax = "key min max",
     .summary = "Counts the members between two scores.",
     .since = "2.0.0",
     .complexity = "O(log N), N members"},
    {.name = "zlexcount",
     .function = zlexcount_command,
     .arity = 4,
     .flags = kReadOnly | kFast,
     .syntax = "key min max",
     .summary = "Counts the members between two strings.",
     .since = "2.8.9",
     .complexity = "O(log N), N members"},
    {.name = "zrange",
     .function = zrange_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
     .summary = "Returns the members between two ranks, scores or strings.",
     .since = "1.2.0",
     .complexity = "O(log N + M), N members, M returned"},
    {.name = "zrangestore",
     .function = zrangestore_command,
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .syntax = "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
     .summary = "Stores the members between two ranks, scores or strings.",
     .since = "6.2.0",
     .complexity = "O(log N + M), N members, M stored"},
    {.name = "zrevrange",
     .function = zrevrange_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key start stop [WITHSCORES]",
     .summary = "Returns the members between two ranks, the highest score first.",
     .since = "1.2.0",
     .complexity = "O(log N + M), N members, M returned",
     .deprecated_since = "6.2.0",
     .replaced_by = "ZRANGE with REV"},
    {.name = "zrangebyscore",
     .function = zrangebyscore_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key min max [WITHSCORES] [LIMIT offset count]",
     .summary = "Returns the members between two scores.",
     .since = "1.0.5",
     .complexity = "O(log N + M), N members, M returned",
     .deprecated_since = "6.2.0",
     .replaced_by = "ZRANGE with BYSCORE"},
    {.name = "zrevrangebyscore",
     .function = zrevrangebyscore_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
     .summary = "Returns the members between two scores, the highest first.",
     .since = "2.2.0",
     .complexity = "O(log N + M), N members, M returned",
     .deprecated_since = "6.2.0",
     .replaced_by = "ZRANGE with REV and BYSCORE"},
    {.name = "zrangebylex",
     .function = zrangebylex_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key min max [LIMIT offset count]",
     .summary = "Returns the members between two strings.",
     .since = "2.8.9",
     .complexity = "O(log N + M), N members, M returned",
     .deprecated_since = "6.2.0",
     .replaced_by = "ZRANGE with BYLEX"},
    {.name = "zrevrangebylex",
     .function = zrevrangebylex_command,
     .arity = -4,
     .flags = kReadOnly,
     .syntax = "key max min [LIMIT offset count]",
     .summary = "Returns the members between two strings, the last first.",
     .since = "2.8.9",
     .complexity = "O(log N + M), N members, M returned",
     .deprecated_since = "6.2.0",
     .replaced_by = "ZRANGE with REV and BYLEX"},
    {.name = "zremrangebyrank",
     .function = zremrangebyrank_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key start stop",
     .summary = "Removes the members between two ranks.",
     .since = "2.0.0",
     .complexity = "O(log N + M), N members, M removed"},
    {.name = "zremrangebyscore",
     .function = zremrangebyscore_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key min max",
     .summary = "Removes the members between two scores.",
     .since = "1.2.0",
     .complexity = "O(log N + M), N members, M removed"},
    {.name = "zremrangebylex",
     .function = zremrangebylex_command,
     .arity = 4,
     .flags = kWrite,
     .syntax = "key min max",
     .summary = "Removes the members between two strings.",
     .since = "2.8.9",
     .complexity = "O(log N + M), N members, M removed"},
};

}  // namespace

CommandFamily sorted_set_range_commands() {
  return {CommandGroup::kSortedSet, kSortedSetRangeCommands};
}

}  // namespace rushgate
