// The environment of scripts: Redis's selection of Lua's libraries, behind guards against changes.
// Private to the script module.
//
// Redis patches its Lua so that tables can be read-only. With an unpatched Lua, a script gets an
// empty table in place of each shared one. Its metatable redirects reads to the real table and
// refuses writes; it is the table's guard. Functions that would bypass guards (pairs, next, rawget,
// …) are replaced by versions that support them (lua_guarded_functions.h). A script that cannot
// change the tables gets them without guards (lua_globals.h).
#pragma once

#include <string_view>

#include "engine/redis/script/lua.h"

namespace rushgate {

/// The globals that are tables, shared by all scripts; _G is one, too.
inline constexpr std::string_view kSharedTables[] = {
    LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME, LUA_COLIBNAME, "redis",
    "cjson",        "bit",          "cmsgpack",      "struct",
};

/// Opens the libraries and installs the guards. Called once per interpreter.
void open_sandbox(lua_State* lua);

/// Puts a guard in place of the table on top of the stack. A table of globals: it is an error to
/// read a missing field, and scripts can see a metatable.
void guard_table(lua_State* lua);
void guard_globals(lua_State* lua);

/// Pushes the real table behind a guard. Returns false, and pushes nothing, if it is no guard.
bool push_guarded(lua_State* lua, int index);

/// Pushes the metatable that scripts see for the table of the guard at `index`, or nil.
void push_visible_metatable_of_guard(lua_State* lua, int index);

}  // namespace rushgate
