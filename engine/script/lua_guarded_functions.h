// Functions of Lua's libraries in forms that know of guards (lua_sandbox.h) and of interruption.
// Private to the script room.
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Puts them into the globals, which are on top of the stack.
void install_guarded_functions(lua_State* lua);

/// Raises an error if the argument is a guard: the function would change the table.
void refuse_guard(lua_State* lua, int index);

/// Puts `wrapper` in place of the C function `name` of the table on top of the stack. It may go on
/// with call_wrapped(). The function must have at most one upvalue.
void wrap_function(lua_State* lua, const char* name, lua_CFunction wrapper);

/// Inside a wrapper: calls the function that it replaced, as if that had been called.
int call_wrapped(lua_State* lua);

/// Takes back what a script did to the collector (collectgarbage("stop"), …).
void reset_collector(lua_State* lua);

}  // namespace rushgate
