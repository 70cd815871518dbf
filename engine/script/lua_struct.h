// The table `struct` of scripts: numbers and texts to the bytes of a C structure and back. Private
// to the script room.
// Semantics: https://redis.io/docs/latest/develop/programmability/lua-api/#struct-library
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_struct(lua_State* lua);

}  // namespace rushgate
