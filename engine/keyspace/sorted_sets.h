// What changes sorted sets.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::sorted_sets {

struct ScoredMember {
  std::string member;
  double score;
};

/// An empty sorted set at `key`, where there must be nothing. Add to it at once: there are no empty
/// sorted sets between commands.
Object& create(Database& db, std::string_view key);

/// Gives a member its score, which is no NaN. True if the member is new.
bool set(Database& db, Object& object, std::string_view member, double score);

/// False if there was none. The key goes with its last member: `object` is not to be used then.
/// `member` is not to be the element's own.
bool remove(Database& db, Object& object, std::string_view member);

/// Would Redis keep these as a small one, a listpack?
bool is_small(const EncodingLimits& limits, std::span<const ScoredMember> members);

/// Puts a sorted set of these members, each of which is there once, in the place of whatever is at
/// `key`. Nothing is there if there are none. They come in one by one: if it `begins_small` it is
/// so until the first one that does not fit.
void store(Database& db, std::string_view key, std::span<const ScoredMember> members,
           bool begins_small);

}  // namespace rushgate::sorted_sets
