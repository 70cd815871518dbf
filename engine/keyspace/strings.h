// What changes strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/keyspace/database.h"

namespace rushgate::strings {

/// Makes `key` a string with this value and no expiry, whatever was there.
Object& set(Database& db, std::string_view key, StringValue value);

/// Gives an object that is a string another value; its expiry stays.
void assign(Database& db, Object& object, StringValue value);

}  // namespace rushgate::strings
