// What changes sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/scalar.h"
#include "engine/keyspace/database.h"

namespace rushgate::sets {

/// An empty set at `key`, where there must be nothing. Add to it at once: there are no empty sets
/// between commands.
Object& create(Database& db, std::string_view key);

/// False if it was a member already.
bool add(Database& db, Object& object, const Scalar& member);

/// Adds integers in their order, until `new_max` of them were new. Sets is_new[i] for each that it
/// came to; how many those are.
std::size_t add_integers(Database& db, Object& object, std::span<const std::int64_t> members,
                         std::size_t new_max, std::span<bool> is_new);

/// Copies the members of `from` into a set that was created since the newest savepoint, and is
/// empty.
void copy(Database& db, Object& made, const SetValue& from);

/// False if it was none. The key goes with its last member: `object` is not to be used then.
bool remove(Database& db, Object& object, std::string_view member);

/// Gives a set another set's form.
void assign_form(Database& db, Object& object, const SetValue::Form& form);

}  // namespace rushgate::sets
