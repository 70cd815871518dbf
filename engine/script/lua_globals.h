// What a compiled script does with its globals, and what it can be spared of it. Private to the
// script room.
//
// Guards (lua_sandbox.h) make each read of a global or of redis.call go through a metatable. A
// script of which it can be seen that it only reads needs none: it gets the tables themselves. And
// what its main part reads most, KEYS, ARGV and redis.call, it need not look up by name: it gets
// them as upvalues.
#pragma once

#include "engine/script/lua.h"
#include "engine/script/lua_host.h"

namespace rushgate {

/// Finds it out from the function on top of the stack, which must come from a text, and puts in its
/// place one that does the same with what it needs. Throws only std::bad_alloc.
GlobalUse settle_globals(lua_State* lua);

/// The tables on top of the stack, KEYS and ARGV, become upvalues of the function below them, and
/// are popped.
void set_list_upvalues(lua_State* lua);

}  // namespace rushgate
