// Mutators of sorted sets.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "engine/redis/keyspace/database.h"

namespace rushgate::sorted_sets {

struct ScoredMember {
  std::string member;
  double score;
};

/// Creates an empty sorted set at the free key `key`. A member must be added at once: sorted sets
/// are never empty between commands.
Object& create(Database& db, std::string_view key);

/// Sets a member's score, which must not be NaN. The sorted set becomes large when it exceeds the
/// limits. Returns true if the member is new.
bool set(Database& db, Object& object, std::string_view member, double score);

/// As set(), and a small sorted set stays small.
bool set_keeping_form(Database& db, Object& object, std::string_view member, double score);

/// Returns false if there was none. The last member takes the key with it: `object` is invalid
/// then. `member` must not be a view of the element.
bool remove(Database& db, Object& object, std::string_view member);

/// Removes the `count` lowest members, which must exist. The last member takes the key with it, as
/// in remove().
void remove_first(Database& db, Object& object, std::size_t count);

/// Makes a small sorted set large. Its form is not stored.
void grow(Database& db, Object& object);

/// Copies the elements and the form of `from` to an empty sorted set.
void copy(Database& db, Object& made, const SortedSetValue& from);

/// Returns true if Redis would keep these members as a listpack.
bool is_small(const EncodingLimits& limits, std::span<const ScoredMember> members);

/// Replaces the value at `key` by a sorted set of these distinct members; removes it if there are
/// none. They are added one by one: if it `begins_small`, it stays small until the first member
/// that does not fit.
void store(Database& db, std::string_view key, std::span<const ScoredMember> members,
           bool begins_small);

}  // namespace rushgate::sorted_sets
