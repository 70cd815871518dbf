// math.random and math.randomseed as in Redis: the same numbers on every machine. Private to the
// script module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Installs them in `math` of the globals on top of the stack.
void install_random(lua_State* lua);

}  // namespace rushgate
