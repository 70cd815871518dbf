// Mutators of sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/redis/keyspace/database.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::sets {

/// Creates an empty set at the free key `key`. A member must be added at once: sets are never empty
/// between commands.
Object& create(Database& db, std::string_view key);

/// Returns false if it was a member already.
bool add(Database& db, Object& object, const MaybeInteger& member);

/// Adds integers in order until `new_max` of them were new. Sets is_new[i] for each processed one,
/// and returns their number.
std::size_t add_integers(Database& db, Object& object, std::span<const std::int64_t> members,
                         std::size_t new_max, std::span<bool> is_new);

/// Copies the members and the form of `from` into an empty set that was created since the newest
/// savepoint.
void copy(Database& db, Object& made, const SetValue& from);

/// Returns false if it was none. The last member takes the key with it: `object` is invalid.
bool remove(Database& db, Object& object, std::string_view member);

}  // namespace rushgate::sets
