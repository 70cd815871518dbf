// Functions of Lua's coroutine library in forms that let a script be interrupted. Private to the
// script module.
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Puts them into the coroutine library, which is on top of the stack.
void install_coroutine_functions(lua_State* lua);

}  // namespace rushgate
