// Versions of Lua's table functions that support guards (lua_sandbox.h) and
// interruption. Private to the script module. Semantics:
// https://www.lua.org/manual/5.1/manual.html#5.5
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Installs them in the table library on top of the stack.
void install_table_functions(lua_State* lua);

}  // namespace rushgate
