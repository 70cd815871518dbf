// What changes strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::strings {

/// Makes `key` a string with this value and no expiry, whatever was there.
Object& set(Database& db, std::string_view key, StringValue value);

/// As set(), with an expiry. `object` is the one at `key`, or null.
void set_until(Database& db, Object* object, std::string_view key, StringValue value,
               std::int64_t expire_at_ms);

/// Gives an object that is a string another value; its expiry stays.
void assign(Database& db, Object& object, StringValue value);

/// Puts `bytes` in place of what stands from `offset` on; a string that is too short for that
/// grows, with zeros in a gap. Its expiry stays.
void overwrite(Database& db, Object& object, std::size_t offset, std::string_view bytes);

}  // namespace rushgate::strings
