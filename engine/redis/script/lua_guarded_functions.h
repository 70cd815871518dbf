// Versions of Lua's library functions that support guards (lua_sandbox.h) and interruption. Private
// to the script module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Installs them in the globals on top of the stack.
void install_guarded_functions(lua_State* lua);

/// Raises an error if the argument is a guard, because the function would change the table.
void refuse_guard(lua_State* lua, int index);

/// Replaces the C function `name` of the table on top of the stack by `wrapper`, which may call the
/// original with call_wrapped(). The original must have at most one upvalue.
void wrap_function(lua_State* lua, const char* name, lua_CFunction wrapper);

/// Calls the replaced function from inside its wrapper, with the same arguments.
int call_wrapped(lua_State* lua);

/// Undoes the script's changes to the collector (collectgarbage("stop"), …).
void reset_collector(lua_State* lua);

}  // namespace rushgate
