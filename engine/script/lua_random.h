// math.random and math.randomseed as Redis has them: the same numbers on every machine. Private to
// the script room.
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Puts them into `math` of the globals, which are on top of the stack.
void install_random(lua_State* lua);

}  // namespace rushgate
