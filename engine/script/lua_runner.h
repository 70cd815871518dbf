// Compiles a script, and runs it from its arguments to its result. Private to the script room.
#pragma once

#include <string_view>

#include "engine/script/lua.h"
#include "engine/script/lua_context.h"

namespace rushgate {

/// Compiles `text`, and pushes the function, or, if the result is not zero, the error's text.
/// Compiled code is no text: it is refused like any other that makes no sense.
int load_text(lua_State* lua, std::string_view text, const char* chunk_name);

/// The same, from the pieces that the function at stack position 1 gives, one after the other; uses
/// positions 2 and 3.
int load_pieces(lua_State* lua, const char* chunk_name);

/// To be done once: puts what run_script() needs onto the empty stack, where it stays.
void push_runner(lua_State* lua);
/// Takes everything else off the stack.
void leave_runner_alone(lua_State* lua);

/// Runs the script, within LuaContext::begin_call() and end_call(); how it ended stands in
/// LuaContext::result.
void run_script(LuaContext& context, const LuaScript& script);

}  // namespace rushgate
