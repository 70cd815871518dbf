// Unions, intersections and differences of sorted sets and sets. A member of a set has the score 1:
// https://redis.io/docs/latest/commands/?group=sorted-set
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/sorted_set_arguments.h"
#include "engine/redis/commands/sorted_set_errors.h"
#include "engine/redis/keyspace/sorted_sets.h"

namespace rushgate {
namespace {

using Members = std::vector<sorted_sets::ScoredMember>;

enum class SortedSetOperation { kUnion, kInter, kDiff };
enum class Aggregate { kSum, kMin, kMax };

// ---- Arguments ----

/// The sorted set or set of a key; may be empty.
class Input {
 public:
  explicit Input(Object* object) : object_(object) {}

  [[nodiscard]] std::size_t size() const {
    if (object_ == nullptr) return 0;
    return is_set() ? object_->set().size() : object_->sorted_set().size();
  }
  [[nodiscard]] std::optional<double> score(std::string_view member) const {
    if (object_ == nullptr) return std::nullopt;
    if (!is_set()) return object_->sorted_set().score(member);
    return object_->set().contains(member) ? std::optional(1.0) : std::nullopt;
  }
  /// Calls visit(std::string_view member, double score).
  template <class Visit>
  void for_each(Visit visit) const {
    if (object_ == nullptr) return;
    if (is_set()) {
      return object_->set().for_each([&](std::string_view member) { visit(member, 1.0); });
    }
    const SortedSetValue& value = object_->sorted_set();
    value.for_each(0, value.size(),
                   [&](const ScoredElement& element) { visit(element.member, element.score); });
  }
  /// Calls visit(std::string_view member) until it returns false.
  template <class Visit>
  void for_each_while(Visit visit) const {
    if (object_ == nullptr) return;
    if (is_set()) return object_->set().for_each_while(visit);
    constexpr std::size_t kStep = 64;
    const SortedSetValue& value = object_->sorted_set();
    bool goes_on = true;
    for (std::size_t at = 0; goes_on && at < value.size(); at += kStep) {
      value.for_each(at, std::min(at + kStep, value.size()), [&](const ScoredElement& element) {
        goes_on = goes_on && visit(element.member);
      });
    }
  }

  double weight = 1;

 private:
  [[nodiscard]] bool is_set() const { return object_->type() == ValueType::kSet; }

  Object* object_;
};

struct AlgebraRequest {
  SortedSetOperation operation;
  bool stores;
  std::vector<Input> inputs = {};
  Aggregate aggregate = Aggregate::kSum;
  bool with_scores = false;
};

/// Reads `numkeys key [key ...]` and finds the values of the keys.
std::vector<Input> read_inputs(CommandContext& context, Arguments& arguments,
                               std::string_view command) {
  std::vector<Input> inputs;
  const std::int64_t count = arguments.next_integer();
  if (count < 1) arguments.fail(errors::no_input_key(command));
  if (arguments.ok() && static_cast<std::uint64_t>(count) > arguments.left())
    arguments.fail(errors::syntax());
  while (arguments.ok() && inputs.size() < static_cast<std::size_t>(count)) {
    Object* const object = context.db().find(arguments.next());
    if (object != nullptr && object->type() != ValueType::kSortedSet &&
        object->type() != ValueType::kSet) {
      arguments.fail(errors::wrong_type());
    }
    inputs.emplace_back(object);
  }
  return inputs;
}

void read_weights(Arguments& arguments, std::vector<Input>& inputs) {
  for (Input& input : inputs) {
    const auto weight = parse_double(arguments.next());
    if (!weight) arguments.fail(errors::weight_not_a_float());
    input.weight = weight.value_or(1);
  }
}

Aggregate read_aggregate(Arguments& arguments) {
  if (arguments.accept("SUM")) return Aggregate::kSum;
  if (arguments.accept("MIN")) return Aggregate::kMin;
  if (arguments.accept("MAX")) return Aggregate::kMax;
  arguments.fail(errors::syntax());
  return Aggregate::kSum;
}

void read_options(Arguments& arguments, AlgebraRequest& request) {
  const bool has_scores = request.operation != SortedSetOperation::kDiff;
  while (!arguments.at_end()) {
    if (has_scores && arguments.left() > request.inputs.size() && arguments.accept("WEIGHTS")) {
      read_weights(arguments, request.inputs);
    } else if (has_scores && arguments.left() >= 2 && arguments.accept("AGGREGATE")) {
      request.aggregate = read_aggregate(arguments);
    } else if (!request.stores && arguments.accept("WITHSCORES")) {
      request.with_scores = true;
    } else {
      arguments.fail(errors::syntax());
    }
  }
}

// ---- Results ----

/// Returns 0 for NaN.
double number_or_zero(double value) { return std::isnan(value) ? 0 : value; }

double aggregated(Aggregate aggregate, double score, double other) {
  switch (aggregate) {
    case Aggregate::kMin:
      return other < score ? other : score;
    case Aggregate::kMax:
      return other > score ? other : score;
    case Aggregate::kSum:
      break;
  }
  return number_or_zero(score + other);
}

/// Sorts as Redis does: the order of additions determines the last digits of the scores.
void sort_by_size(std::vector<Input>& inputs) {
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input& a, const Input& b) { return a.size() < b.size(); });
}

Members unite(AlgebraRequest& request) {
  sort_by_size(request.inputs);
  std::unordered_map<std::string, double> scores;
  for (const Input& input : request.inputs) {
    input.for_each([&](std::string_view member, double score) {
      const double weighted = number_or_zero(score * input.weight);
      const auto [found, is_new] = scores.try_emplace(std::string(member), weighted);
      if (!is_new) found->second = aggregated(request.aggregate, found->second, weighted);
    });
  }
  Members members;
  members.reserve(scores.size());
  for (const auto& [member, score] : scores) members.push_back({member, score});
  return members;
}

Members intersect(AlgebraRequest& request) {
  sort_by_size(request.inputs);
  const Input& smallest = request.inputs.front();
  Members members;
  smallest.for_each([&](std::string_view member, double score) {
    double total = number_or_zero(score * smallest.weight);
    for (std::size_t i = 1; i < request.inputs.size(); ++i) {
      const auto other = request.inputs[i].score(member);
      if (!other) return;
      total = aggregated(request.aggregate, total, *other * request.inputs[i].weight);
    }
    members.push_back({std::string(member), total});
  });
  return members;
}

Members subtract(const AlgebraRequest& request) {
  Members members;
  request.inputs.front().for_each([&](std::string_view member, double score) {
    const bool is_elsewhere =
        std::any_of(request.inputs.begin() + 1, request.inputs.end(),
                    [member](const Input& input) { return input.score(member).has_value(); });
    if (!is_elsewhere) members.push_back({std::string(member), score});
  });
  return members;
}

Members result_of(AlgebraRequest& request) {
  Members members = request.operation == SortedSetOperation::kUnion   ? unite(request)
                    : request.operation == SortedSetOperation::kInter ? intersect(request)
                                                                      : subtract(request);
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return std::tie(a.score, a.member) < std::tie(b.score, b.member);
  });
  return members;
}

// ---- The commands ----

Reply members_reply(CommandContext& context, SortedSetOperation operation,
                    std::string_view command) {
  Arguments arguments(context.request());
  AlgebraRequest request{operation, false};
  request.inputs = read_inputs(context, arguments, command);
  read_options(arguments, request);
  if (!arguments.ok()) return arguments.take_error();
  const Members members = result_of(request);
  MembersReply reply(context, request.with_scores, members.size());
  for (const auto& [member, score] : members) reply.add(member, score);
  return reply.take();
}

Reply store_members(CommandContext& context, SortedSetOperation operation,
                    std::string_view command) {
  Arguments arguments(context.request(), 2);
  AlgebraRequest request{operation, true};
  request.inputs = read_inputs(context, arguments, command);
  read_options(arguments, request);
  if (!arguments.ok()) return arguments.take_error();
  const Members members = result_of(request);
  return store_reply(context, command, members,
                     sorted_sets::is_small(context.keyspace().limits(), members));
}

Reply zunion_command(CommandContext& context) {
  return members_reply(context, SortedSetOperation::kUnion, "zunion");
}

Reply zunionstore_command(CommandContext& context) {
  return store_members(context, SortedSetOperation::kUnion, "zunionstore");
}

Reply zinter_command(CommandContext& context) {
  return members_reply(context, SortedSetOperation::kInter, "zinter");
}

Reply zinterstore_command(CommandContext& context) {
  return store_members(context, SortedSetOperation::kInter, "zinterstore");
}

Reply zintercard_command(CommandContext& context) {
  Arguments arguments(context.request());
  std::vector<Input> inputs = read_inputs(context, arguments, "zintercard");
  const std::uint64_t limit = arguments.rest_as_limit();
  if (!arguments.ok()) return arguments.take_error();

  sort_by_size(inputs);
  std::uint64_t count = 0;
  inputs.front().for_each_while([&](std::string_view member) {
    const bool is_everywhere =
        std::all_of(inputs.begin() + 1, inputs.end(),
                    [&](const Input& input) { return input.score(member).has_value(); });
    if (is_everywhere) ++count;
    return limit == 0 || count < limit;
  });
  return Reply::integer(static_cast<std::int64_t>(count));
}

Reply zdiff_command(CommandContext& context) {
  return members_reply(context, SortedSetOperation::kDiff, "zdiff");
}

Reply zdiffstore_command(CommandContext& context) {
  return store_members(context, SortedSetOperation::kDiff, "zdiffstore");
}

// ---- The records ----

constexpr CommandSpec kSortedSetAlgebraCommands[] = {
    {.name = "zunion",
     .function = zunion_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] "
               "[WITHSCORES]",
     .summary = "Returns the union of several sorted sets, with combined scores.",
     .since = "6.2.0",
     .complexity = "O(N + M*log M), N members of all sets, M of the result"},
    {.name = "zunionstore",
     .function = zunionstore_command,
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .syntax = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | "
               "MIN | MAX>]",
     .summary = "Stores the union of several sorted sets, with combined scores.",
     .since = "2.0.0",
     .complexity = "O(N + M*log M), N members of all sets, M of the result"},
    {.name = "zinter",
     .function = zinter_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] "
               "[WITHSCORES]",
     .summary = "Returns the intersection of several sorted sets.",
     .since = "6.2.0",
     .complexity = "O(N*K + M*log M), N members of the smallest set, K sets, M of the result"},
    {.name = "zinterstore",
     .function = zinterstore_command,
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .syntax = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | "
               "MIN | MAX>]",
     .summary = "Stores the intersection of several sorted sets.",
     .since = "2.0.0",
     .complexity = "O(N*K + M*log M), N members of the smallest set, K sets, M of the result"},
    {.name = "zintercard",
     .function = zintercard_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "numkeys key [key ...] [LIMIT limit]",
     .summary = "Counts the intersection of several sorted sets.",
     .since = "7.0.0",
     .complexity = "O(N*K), N members of the smallest set, K sets"},
    {.name = "zdiff",
     .function = zdiff_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "numkeys key [key ...] [WITHSCORES]",
     .summary = "Returns the difference of the first sorted set and the others.",
     .since = "6.2.0",
     .complexity = "O(L + (N-K)*log N), L members of all sets, N of the first, K of the result"},
    {.name = "zdiffstore",
     .function = zdiffstore_command,
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .syntax = "destination numkeys key [key ...]",
     .summary = "Stores the difference of the first sorted set and the others.",
     .since = "6.2.0",
     .complexity = "O(L + (N-K)*log N), L members of all sets, N of the first, K of the result"},
};

}  // namespace

CommandFamily sorted_set_algebra_commands() {
  return {CommandGroup::kSortedSet, kSortedSetAlgebraCommands};
}

}  // namespace rushgate
