// Analysis of a compiled script's use of globals. Private to the script module.
// With guards (lua_sandbox.h), each read of a global or of redis.call goes
// through a metatable. A script whose compiled code only reads them needs no
// guard and gets the tables themselves. KEYS and ARGV are created again only
// after a script that may have changed them. The compiled code is read, never
// written. Rewriting it so that KEYS, ARGV and redis are upvalues saved 8 % of
// the time per admission. That did not justify code that Lua's compiler did not
// generate.
#pragma once

#include "engine/redis/script/lua.h"
#include "engine/redis/script/lua_host.h"

namespace rushgate {

/// Analyses the function on top of the stack, which must be compiled from source, and sets its
/// globals. Throws only std::bad_alloc.
GlobalUse resolve_globals(lua_State* lua);

}  // namespace rushgate
