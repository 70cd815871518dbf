// The table `redis` of scripts. Private to the script module. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#redis_object
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_redis_api(lua_State* lua);

}  // namespace rushgate
