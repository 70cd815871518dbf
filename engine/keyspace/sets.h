// What changes sets.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::sets {

/// An empty set at `key`, where there must be nothing. Add to it at once: there are no empty sets
/// between commands.
Object& create(Database& db, std::string_view key);

/// False if it was a member already.
bool add(Database& db, Object& object, std::string_view member);
bool add_integer(Database& db, Object& object, std::int64_t member);

/// False if it was none. The key goes with its last member: `object` is not to be used then.
bool remove(Database& db, Object& object, std::string_view member);

}  // namespace rushgate::sets
