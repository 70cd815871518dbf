// Compiles and runs scripts. Private to the script module.
#pragma once

#include <string_view>

#include "engine/redis/script/lua.h"
#include "engine/redis/script/lua_context.h"

namespace rushgate {

/// Compiles `text`. Pushes the function or, if the result is not zero, the error message. Compiled
/// code is refused, as any invalid source.
int load_text(lua_State* lua, std::string_view text, const char* chunk_name);

/// As load_text(), for source in pieces from the function at stack position 1. Uses positions 2 and
/// 3.
int load_pieces(lua_State* lua, const char* chunk_name);

/// Pushes the permanent objects of run_script() onto the empty stack. Called once.
void push_runner(lua_State* lua);
/// Pops all other values from the stack.
void leave_runner_alone(lua_State* lua);

/// Run a script or a function, between LuaContext::begin_call() and end_call(). Set
/// LuaContext::result.
void run_script(LuaContext& context, const LuaScript& script);
void run_function(LuaContext& context, const LuaFunction& function);
/// Runs the compiled library on top of the stack, between LuaContext::begin_load() and end_call().
/// Sets LuaContext::result if it fails.
void run_library(LuaContext& context);

}  // namespace rushgate
