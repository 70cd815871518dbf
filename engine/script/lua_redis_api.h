// The table `redis` of scripts. Private to the script room.
// Semantics: https://redis.io/docs/latest/develop/programmability/lua-api/#redis_object
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_redis_api(lua_State* lua);

/// Pushes a function that does what redis.call does, for a call whose answer nobody reads.
void push_call_without_answer(lua_State* lua);

}  // namespace rushgate
