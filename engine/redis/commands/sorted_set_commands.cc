// Commands on the members of a sorted set: https://redis.io/docs/latest/commands/?group=sorted-set
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/drawing.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/sorted_set_arguments.h"
#include "engine/redis/commands/sorted_set_errors.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

// ---- ZADD and ZINCRBY ----

struct Pair {
  double score;
  std::string_view member;
};

struct MemberAddRequest {
  bool only_new = false;       // NX
  bool only_existing = false;  // XX
  bool only_greater = false;   // GT
  bool only_less = false;      // LT
  bool count_changed = false;  // CH
  bool increment = false;      // INCR
  absl::InlinedVector<Pair, 4> pairs;
};

void read_add_options(Arguments& arguments, MemberAddRequest& add) {
  while (!arguments.at_end()) {
    if (arguments.accept("NX")) {
      add.only_new = true;
    } else if (arguments.accept("XX")) {
      add.only_existing = true;
    } else if (arguments.accept("GT")) {
      add.only_greater = true;
    } else if (arguments.accept("LT")) {
      add.only_less = true;
    } else if (arguments.accept("CH")) {
      add.count_changed = true;
    } else if (arguments.accept("INCR")) {
      add.increment = true;
    } else {
      return;
    }
  }
}

void check_add_options(Arguments& arguments, const MemberAddRequest& add) {
  if (arguments.left() == 0 || arguments.left() % 2 != 0) arguments.fail(errors::syntax());
  if (add.only_new && add.only_existing) arguments.fail(errors::xx_excludes_nx());
  if (add.only_new + add.only_greater + add.only_less > 1)
    arguments.fail(errors::gt_lt_nx_exclude());
  if (add.increment && arguments.left() > 2) arguments.fail(errors::incr_takes_one_pair());
}

MemberAddRequest read_member_add(Arguments& arguments, bool increment) {
  MemberAddRequest add;
  add.increment = increment;
  read_add_options(arguments, add);
  check_add_options(arguments, add);
  while (!arguments.at_end()) {
    const double score = read_score(arguments, arguments.next());
    add.pairs.push_back({score, arguments.next()});
  }
  return add;
}

/// Returns the new score of a member with this score; empty if it must not change; NaN if the sum
/// is undefined.
std::optional<double> choose_score(const MemberAddRequest& add, std::optional<double> current,
                                   double given) {
  if (!current) return add.only_existing ? std::nullopt : std::optional(given);
  if (add.only_new) return std::nullopt;
  const double wanted = add.increment ? *current + given : given;
  if (add.only_less && wanted >= *current) return std::nullopt;
  if (add.only_greater && wanted <= *current) return std::nullopt;
  return wanted;
}

/// Runs ZADD … INCR for one pair and returns the new score.
Reply increment_score(CommandContext& context, Object* object, const MemberAddRequest& add) {
  const auto& [amount, member] = add.pairs.front();
  const auto current = object == nullptr ? std::nullopt : object->sorted_set().score(member);
  const auto wanted = choose_score(add, current, amount);
  if (!wanted) return Reply::nil();
  if (std::isnan(*wanted)) return errors::score_not_a_number();
  if (object == nullptr) object = &sorted_sets::create(context.db(), context[1]);
  if (wanted != current) {
    sorted_sets::set(context.db(), *object, member, *wanted);
    context.notify(kSortedSetEvents, "zincr", context[1]);
  }
  return Reply::real(*wanted);
}

Reply add_members(CommandContext& context, Object* object, const MemberAddRequest& add) {
  if (object == nullptr && add.only_existing) return Reply::integer(0);
  if (object == nullptr) object = &sorted_sets::create(context.db(), context[1]);
  std::int64_t added = 0;
  std::int64_t updated = 0;
  for (const auto& [score, member] : add.pairs) {
    const auto current = object->sorted_set().score(member);
    const auto wanted = choose_score(add, current, score);
    if (!wanted || wanted == current) continue;
    ++(sorted_sets::set(context.db(), *object, member, *wanted) ? added : updated);
  }
  if (added + updated > 0) context.notify(kSortedSetEvents, "zadd", context[1]);
  return Reply::integer(add.count_changed ? added + updated : added);
}

Reply add(CommandContext& context, bool increment) {
  Arguments arguments(context.request(), 2);
  const MemberAddRequest add = read_member_add(arguments, increment);
  if (!arguments.ok()) return arguments.take_error();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  return add.increment ? increment_score(context, object, add) : add_members(context, object, add);
}

// ---- ZSCORE and ZMSCORE ----

Reply score_reply(Object* object, std::string_view member) {
  const auto score = object == nullptr ? std::nullopt : object->sorted_set().score(member);
  return score ? Reply::real(*score) : Reply::nil();
}

// ---- ZRANDMEMBER ----

/// Draws different ranks, all choices equally likely (Floyd's algorithm, with at most as many draws
/// as ranks).
std::vector<std::size_t> draw_ranks(Random& random, std::size_t size, std::size_t count) {
  std::vector<std::size_t> ranks;
  ranks.reserve(count);
  std::unordered_set<std::size_t> drawn;
  for (std::size_t last = size - count; last < size; ++last) {
    const std::size_t rank = random.below(last + 1);
    ranks.push_back(drawn.insert(rank).second ? rank : last);
    drawn.insert(ranks.back());
  }
  return ranks;
}

Reply random_members(CommandContext& context, const SortedSetValue& value, std::int64_t count,
                     bool with_scores) {
  Random& random = context.keyspace().random();
  const std::size_t size = value.size();
  MembersReply reply(context, with_scores, 0);
  const auto add = [&](const ScoredElement& element) { reply.add(element.member, element.score); };
  if (count < 0) {  // members may repeat
    ReplyAllowance allowance(context.session().reply_bytes_max);
    for (; count < 0; ++count) {
      const ScoredElement element = value.at(random.below(size));
      const std::size_t bytes = sizeof(Reply) + element.member.size();
      if (!allowance.take(bytes)) return errors::reply_too_large();
      add(element);
    }
  } else if (static_cast<std::size_t>(count) >= size) {
    value.for_each_back(0, size, add);
  } else {
    for (const std::size_t rank : draw_ranks(random, size, static_cast<std::size_t>(count)))
      add(value.at(rank));
  }
  return reply.take();
}

Reply random_members(CommandContext& context) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Arguments arguments(context.request(), 2);
  const std::int64_t count = arguments.next_integer(-kMax, kMax);
  const bool with_scores = !arguments.at_end();
  if (with_scores && (arguments.left() > 1 || !arguments.accept("WITHSCORES")))
    arguments.fail(errors::syntax());
  if (with_scores && (count < -kMax / 2 || count > kMax / 2))
    arguments.fail(errors::value_out_of_range());
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::array();
  if (count < -kDrawsMax) return errors::value_out_of_range();
  return random_members(context, object->sorted_set(), count, with_scores);
}

// ---- ZRANK and ZREVRANK ----

Reply rank(CommandContext& context, bool from_the_end) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::nil();
  const auto rank = object->sorted_set().rank(context[2]);
  if (!rank) return Reply::nil();
  return Reply::integer(
      static_cast<std::int64_t>(from_the_end ? object->sorted_set().size() - 1 - *rank : *rank));
}

Reply zadd_command(CommandContext& context) { return add(context, false); }

Reply zincrby_command(CommandContext& context) { return add(context, true); }

Reply zrem_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    const bool is_last = object->sorted_set().size() == 1;
    if (!sorted_sets::remove(context.db(), *object, context[i])) continue;
    ++removed;
    if (is_last) break;  // the last member: the key is gone
  }
  if (removed > 0) {
    context.notify(kSortedSetEvents, "zrem", context[1]);
    context.notify_if_removed(context[1]);
  }
  return Reply::integer(removed);
}

Reply zcard_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  return Reply::integer(object == nullptr ? 0
                                          : static_cast<std::int64_t>(object->sorted_set().size()));
}

Reply zscore_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  return score_reply(object, context[2]);
}

Reply zmscore_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  std::vector<Reply> scores;
  scores.reserve(context.size() - 2);
  for (std::size_t i = 2; i < context.size(); ++i)
    scores.push_back(score_reply(object, context[i]));
  return Reply::array(std::move(scores));
}

Reply zrank_command(CommandContext& context) { return rank(context, false); }

Reply zrevrank_command(CommandContext& context) { return rank(context, true); }

Reply zrandmember_command(CommandContext& context) {
  if (context.size() > 2) return random_members(context);
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kSortedSet, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::nil();
  const SortedSetValue& value = object->sorted_set();
  return Reply::bulk(value.at(context.keyspace().random().below(value.size())).member);
}

// ---- The records ----

constexpr CommandSpec kSortedSetCommands[] = {
    {.name = "zadd",
     .function = zadd_command,
     .arity = -4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
     .summary = "Adds members with scores, or changes their scores.",
     .since = "1.2.0",
     .complexity = "O(log N) a member, N members of the set"},
    {.name = "zincrby",
     .function = zincrby_command,
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key increment member",
     .summary = "Adds to a member's score.",
     .since = "1.2.0",
     .complexity = "O(log N), N members"},
    {.name = "zrem",
     .function = zrem_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key member [member ...]",
     .summary = "Removes members.",
     .since = "1.2.0",
     .complexity = "O(M*log N), N members, M to remove"},
    {.name = "zcard",
     .function = zcard_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Counts the members.",
     .since = "1.2.0",
     .complexity = "O(1)"},
    {.name = "zscore",
     .function = zscore_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key member",
     .summary = "Returns a member's score.",
     .since = "1.2.0",
     .complexity = "O(1)"},
    {.name = "zmscore",
     .function = zmscore_command,
     .arity = -3,
     .flags = kReadOnly | kFast,
     .syntax = "key member [member ...]",
     .summary = "Returns the scores of several members.",
     .since = "6.2.0",
     .complexity = "O(N), N members requested"},
    {.name = "zrank",
     .function = zrank_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key member",
     .summary = "Returns a member's rank, the lowest score first.",
     .since = "2.0.0",
     .complexity = "O(log N), N members"},
    {.name = "zrevrank",
     .function = zrevrank_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key member",
     .summary = "Returns a member's rank, the highest score first.",
     .since = "2.0.0",
     .complexity = "O(log N), N members"},
    {.name = "zrandmember",
     .function = zrandmember_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [count [WITHSCORES]]",
     .summary = "Returns random members.",
     .since = "6.2.0",
     .complexity = "O(N), N members returned"},
};

}  // namespace

CommandFamily sorted_set_commands() { return {CommandGroup::kSortedSet, kSortedSetCommands}; }

}  // namespace rushgate
