// Mutators of hashes.
#pragma once

#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::hashes {

/// Creates an empty hash at the free key `key`. A field must be set at once: hashes are never empty
/// between commands.
Object& create(Database& db, std::string_view key);

/// Returns true if the field is new.
bool set(Database& db, Object& object, std::string_view field, std::string_view value);

/// As set(), but a small hash stays small regardless of the limits.
bool set_keeping_form(Database& db, Object& object, std::string_view field, std::string_view value);

/// Returns false if there was none. The last field takes the key with it: `object` is invalid.
bool remove(Database& db, Object& object, std::string_view field);

/// Makes a small hash large: it exceeds the limits of Redis's compact encoding.
void grow(Database& db, Object& object);

/// Copies the fields of `from` into an empty hash, in the same form.
void copy(Database& db, Object& made, const HashValue& from);

}  // namespace rushgate::hashes
