// Functions of Lua's table library in forms that know of guards (lua_sandbox.h), and that let a
// script be interrupted. Private to the script module.
// Semantics: https://www.lua.org/manual/5.1/manual.html#5.5
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Puts them into the table library, which is on top of the stack.
void install_table_functions(lua_State* lua);

}  // namespace rushgate
