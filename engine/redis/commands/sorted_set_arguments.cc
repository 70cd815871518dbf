#include "engine/redis/commands/sorted_set_arguments.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/sorted_set_errors.h"

namespace rushgate {
namespace {

struct ScoreBound {
  double score = 0;
  bool excluded = false;
};

ScoreBound read_score_bound(Arguments& arguments, std::string_view text) {
  const bool excluded = text.starts_with('(');
  const auto score = parse_double_bound(excluded ? text.substr(1) : text);
  if (!score) arguments.fail(errors::bound_not_a_float());
  return {score.value_or(0), excluded};
}

LexBound read_lex_bound(Arguments& arguments, std::string_view text) {
  if (errors::as_c_string(text) == "-") return {LexBound::Kind::kLowest};
  if (errors::as_c_string(text) == "+") return {LexBound::Kind::kHighest};
  if (!text.starts_with('(') && !text.starts_with('[')) {
    arguments.fail(errors::invalid_lex_bound());
    return {};
  }
  return {LexBound::Kind::kMember, text.front() == '(', text.substr(1)};
}

RankRange between(std::size_t first, std::size_t last) { return {first, std::max(first, last)}; }

}  // namespace

// ---- Ranges ----

RankRange IndexRange::ranks_in(const SortedSetValue& value) const {
  const auto size = static_cast<std::int64_t>(value.size());
  const std::int64_t first = std::max<std::int64_t>(start < 0 ? start + size : start, 0);
  const std::int64_t last = std::min(stop < 0 ? stop + size : stop, size - 1);
  if (first > last) return {};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

RankRange ScoreRange::ranks_in(const SortedSetValue& value) const {
  const std::size_t first = value.count_before([this](const ScoredElement& element) {
    return min_excluded ? element.score <= min : element.score < min;
  });
  const std::size_t last = value.count_before([this](const ScoredElement& element) {
    return max_excluded ? element.score < max : element.score <= max;
  });
  return between(first, last);
}

bool LexBound::is_below(std::string_view other) const {
  if (kind != Kind::kMember) return kind == Kind::kLowest;
  return excluded ? member < other : member <= other;
}

bool LexBound::is_above(std::string_view other) const {
  if (kind != Kind::kMember) return kind == Kind::kHighest;
  return excluded ? member > other : member >= other;
}

RankRange LexRange::ranks_in(const SortedSetValue& value) const {
  const std::size_t first = value.count_before(
      [this](const ScoredElement& element) { return !min.is_below(element.member); });
  const std::size_t last = value.count_before(
      [this](const ScoredElement& element) { return max.is_above(element.member); });
  return between(first, last);
}

IndexRange read_index_range(Arguments& arguments, std::string_view start, std::string_view stop) {
  const std::int64_t first = arguments.to_integer(start);
  return {first, arguments.to_integer(stop)};
}

ScoreRange read_score_range(Arguments& arguments, std::string_view min, std::string_view max) {
  const ScoreBound from = read_score_bound(arguments, min);
  const ScoreBound to = read_score_bound(arguments, max);
  return {from.score, to.score, from.excluded, to.excluded};
}

LexRange read_lex_range(Arguments& arguments, std::string_view min, std::string_view max) {
  const LexBound from = read_lex_bound(arguments, min);
  return {from, read_lex_bound(arguments, max)};
}

double read_score(Arguments& arguments, std::string_view text) {
  const auto score = parse_double(text);
  if (!score) arguments.fail(errors::not_a_float());
  return score.value_or(0);
}

// ---- Results ----

Reply store_reply(CommandContext& context, std::string_view event,
                  std::span<const sorted_sets::ScoredMember> members, bool begins_small) {
  const std::string_view key = context[1];
  const bool existed = context.db().find(key) != nullptr;
  sorted_sets::store(context.db(), key, members, begins_small);
  if (!members.empty()) {
    context.notify(kSortedSetEvents, event, key);
  } else if (existed) {
    context.notify(kGenericEvents, "del", key);
  }
  return Reply::integer(static_cast<std::int64_t>(members.size()));
}

// ---- Replies ----

void append_pair(std::vector<Reply>& replies, std::string_view member, double score, bool nested) {
  if (!nested) {
    replies.push_back(Reply::bulk(member));
    replies.push_back(Reply::real(score));
    return;
  }
  std::vector<Reply> pair;
  pair.reserve(2);
  append_pair(pair, member, score, false);
  replies.push_back(Reply::array(std::move(pair)));
}

MembersReply::MembersReply(const CommandContext& context, bool with_scores, std::size_t members)
    : with_scores_(with_scores), nested_(context.resp3()) {
  replies_.reserve(with_scores_ && !nested_ ? 2 * members : members);
}

void MembersReply::add(std::string_view member, double score) {
  if (with_scores_) return append_pair(replies_, member, score, nested_);
  replies_.push_back(Reply::bulk(member));
}

}  // namespace rushgate
