// Interruptible versions of Lua's coroutine functions. Private to the script
// module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Installs them in the coroutine library on top of the stack.
void install_coroutine_functions(lua_State* lua);

}  // namespace rushgate
