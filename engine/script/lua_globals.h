// What a compiled script does with its globals. Private to the script room.
//
// Guards (lua_sandbox.h) make each read of a global or of redis.call go through a metatable. A
// script whose compiled code only reads them needs no guard: it gets the tables themselves. KEYS
// and ARGV are made from scratch only after a script that may have changed them.
//
// The compiled code is read, never written. Putting KEYS, ARGV and redis into upvalues took 8 %
// less time per admission, and was not worth code that Lua's compiler did not make.
#pragma once

#include "engine/script/lua.h"
#include "engine/script/lua_host.h"

namespace rushgate {

/// Judges the function on top of the stack, which must be compiled from text, and sets its globals.
/// Throws only std::bad_alloc.
GlobalUse settle_globals(lua_State* lua);

}  // namespace rushgate
