// What of Lua a script sees: Redis's selection of its libraries, behind guards that let nobody
// change them. Private to the script room.
//
// Redis patches its Lua so that tables can be made read-only. An unpatched Lua has no such thing,
// so a script gets, in place of each shared table, an empty one whose metatable leads reads to the
// real table and refuses writes: its guard. In place of the functions that would see through that
// (pairs, next, rawget, …) it gets ones that know of guards (lua_guarded_functions.h). A script
// that can do no harm to the tables is given them without guards (lua_globals.h).
#pragma once

#include <string_view>

#include "engine/script/lua.h"

namespace rushgate {

/// The globals that are tables, one for all scripts; so is _G.
inline constexpr std::string_view kSharedTables[] = {
    LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME, LUA_COLIBNAME, "redis",
    "cjson",        "bit",          "cmsgpack",      "struct",
};

/// To be done once, with a new interpreter: opens the libraries and puts up the guards.
void open_sandbox(lua_State* lua);

/// Pushes the real table behind the guard at `index`; false, with nothing pushed, if it is none.
bool push_guarded(lua_State* lua, int index);

/// Pushes what scripts see as the metatable of the table behind the guard at `index`, or nil.
void push_visible_metatable_of_guard(lua_State* lua, int index);

}  // namespace rushgate
