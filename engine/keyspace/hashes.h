// What changes hashes.
#pragma once

#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::hashes {

/// An empty hash at `key`, where there must be nothing. Set a field at once: there are no empty
/// hashes between commands.
Object& create(Database& db, std::string_view key);

/// True if the field is new.
bool set(Database& db, Object& object, std::string_view field, std::string_view value);

/// False if there was none. The key goes with its last field: `object` is not to be used then.
bool remove(Database& db, Object& object, std::string_view field);

/// From now on it counts as one that was too large for Redis's compact form.
void grow(Database& db, Object& object);

}  // namespace rushgate::hashes
