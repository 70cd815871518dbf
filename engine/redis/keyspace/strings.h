// Mutators of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/redis/keyspace/database.h"

namespace rushgate::strings {

/// Sets `key` to a string without expiry. Replaces any value.
Object& set(Database& db, std::string_view key, StringValue value);

/// As set(), with an expiry. `object` is the one at `key`, or null.
void set_until(Database& db, Object* object, std::string_view key, StringValue value,
               std::int64_t expire_at_ms);

/// Replaces the value of a string. Its expiry stays.
void assign(Database& db, Object& object, StringValue value);

/// Makes a string editable in place, as overwrite() does. WATCH does not see it, because the bytes
/// stay.
void make_buffer(Database& db, Object& object);

/// Overwrites the bytes from `offset` on. A string that is too short grows, with zeros in a gap.
/// Its expiry stays.
void overwrite(Database& db, Object& object, std::size_t offset, std::string_view bytes);

}  // namespace rushgate::strings
