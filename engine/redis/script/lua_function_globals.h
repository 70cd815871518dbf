// The globals of functions (FCALL), which differ from those of scripts (EVAL). Private to the script
// module.
//
// As in Redis, there are two sets: one while a function is called, and a small one while its library
// is loaded, without redis.call. Functions keep the environment of their library. So all libraries
// share one guard (lua_sandbox.h), and either set is behind it.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Creates both sets from the scripts' globals, which must be installed. Called once per
/// interpreter.
void install_function_globals(lua_State* lua);

/// Makes these the globals of code that is compiled from now on. Allocate nothing.
void use_globals_of_call(lua_State* lua);
void use_globals_of_load(lua_State* lua);
void use_globals_of_scripts(lua_State* lua);

}  // namespace rushgate
