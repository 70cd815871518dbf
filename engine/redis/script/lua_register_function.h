// redis.register_function, by which a library adds its functions. Private to the script module.
// Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#redis.register_function
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// redis.register_function(name, callback), or with a table of named arguments.
int register_function(lua_State* lua);

}  // namespace rushgate
