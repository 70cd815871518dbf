// Shared code of the sorted set commands: parsing of bounds, and replies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/keyspace/sorted_set_value.h"
#include "engine/redis/keyspace/sorted_sets.h"
#include <rushgate/reply.h>

namespace rushgate {

// ---- Ranges ----

/// Elements from rank `first` up to, not including, `last`; first <= last.
struct RankRange {
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] std::size_t size() const { return last - first; }
  [[nodiscard]] bool empty() const { return first == last; }
};

/// Positions from the beginning; negative ones from the end. Both ends are included.
struct IndexRange {
  std::int64_t start;
  std::int64_t stop;

  [[nodiscard]] RankRange ranks_in(const SortedSetValue& value) const;
};

struct ScoreRange {
  double min;
  double max;
  bool min_excluded;
  bool max_excluded;

  [[nodiscard]] RankRange ranks_in(const SortedSetValue& value) const;
};

/// One end of a range of members.
struct LexBound {
  enum class Kind : std::uint8_t { kLowest, kMember, kHighest };
  Kind kind = Kind::kLowest;
  bool excluded = false;
  std::string_view member = {};

  [[nodiscard]] bool is_below(std::string_view other) const;
  [[nodiscard]] bool is_above(std::string_view other) const;
};

struct LexRange {
  LexBound min;
  LexBound max;

  [[nodiscard]] RankRange ranks_in(const SortedSetValue& value) const;
};

// Parses a range. Latches errors in the Arguments.
IndexRange read_index_range(Arguments& arguments, std::string_view start, std::string_view stop);
ScoreRange read_score_range(Arguments& arguments, std::string_view min, std::string_view max);
LexRange read_lex_range(Arguments& arguments, std::string_view min, std::string_view max);

/// Parses a score or an increment.
double read_score(Arguments& arguments, std::string_view text);

// ---- Results ----

/// Stores the result of a command at argument 1, publishes `event`, and returns its size.
/// `begins_small`: as sorted_sets::store().
Reply store_reply(CommandContext& context, std::string_view event,
                  std::span<const sorted_sets::ScoredMember> members, bool begins_small);

// ---- Replies ----

/// Appends a member and its score: as [member, score] if `nested`, else as two elements.
void append_pair(std::vector<Reply>& replies, std::string_view member, double score, bool nested);

/// Builds a reply of members, with scores in the protocol's form.
class MembersReply {
 public:
  MembersReply(const CommandContext& context, bool with_scores, std::size_t members);

  void add(std::string_view member, double score);
  Reply take() { return Reply::array(std::move(replies_)); }

 private:
  const bool with_scores_;
  const bool nested_;
  std::vector<Reply> replies_;
};

}  // namespace rushgate
