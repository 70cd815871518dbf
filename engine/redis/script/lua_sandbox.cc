#include "engine/redis/script/lua_sandbox.h"

#include <iterator>

#include "engine/redis/script/lua_bits.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/lua_function_globals.h"
#include "engine/redis/script/lua_guarded_functions.h"
#include "engine/redis/script/lua_json.h"
#include "engine/redis/script/lua_message_pack.h"
#include "engine/redis/script/lua_random.h"
#include "engine/redis/script/lua_redis_api.h"
#include "engine/redis/script/lua_struct.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// Keys in a guard's metatable. Addresses: no script can name them.
constexpr char kRealTable = 0;
constexpr char kVisibleMetatable = 0;

void push_key(lua_State* lua, const char& key) {
  lua_pushlightuserdata(lua, const_cast<char*>(&key));
}

// ---- The environment of scripts ----

constexpr const char* kBaseNames[] = {
    "_VERSION", "assert",   "error",    "gcinfo", "ipairs", "rawequal",
    "select",   "tonumber", "tostring", "type",   "unpack",
};

struct Library {
  const char* name;
  lua_CFunction open;
};

constexpr Library kLibraries[] = {
    {LUA_TABLIBNAME, &luaopen_table},
    {LUA_STRLIBNAME, &luaopen_string},
    {LUA_MATHLIBNAME, &luaopen_math},
};

/// Tables of scripts in addition to Lua's own.
struct OwnTable {
  const char* name;
  void (*push)(lua_State* lua);
};

constexpr OwnTable kOwnTables[] = {
    {"redis", &push_redis_api},       {"cjson", &push_json},    {"bit", &push_bits},
    {"cmsgpack", &push_message_pack}, {"struct", &push_struct},
};

void open_library(lua_State* lua, const char* name, lua_CFunction open) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

/// Pushes the scripts' table of globals: a selection of Lua's.
void push_selected_globals(lua_State* lua) {
  open_library(lua, "", &luaopen_base);  // and coroutine
  for (const Library& library : kLibraries) open_library(lua, library.name, library.open);
  lua_newtable(lua);
  for (const char* name : kBaseNames) {
    lua_getglobal(lua, name);
    lua_setfield(lua, -2, name);
  }
  for (const Library& library : kLibraries) {
    lua_getglobal(lua, library.name);
    lua_setfield(lua, -2, library.name);
  }
  lua_getglobal(lua, LUA_COLIBNAME);
  lua_setfield(lua, -2, LUA_COLIBNAME);
}

// ---- Guards ----

/// __newindex of a guard.
int refuse_write(lua_State* lua) { return luaL_error(lua, script_errors::kReadOnlyTable); }

/// __index of the globals: they lack the name.
int refuse_unknown_global(lua_State* lua) {
  if (lua_gettop(lua) != 2) return luaL_error(lua, script_errors::kGlobalNameArguments);
  const char* const name = lua_tostring(lua, 2);
  if (name == nullptr) return luaL_error(lua, script_errors::kGlobalNameType);
  return luaL_error(lua, script_errors::kNoGlobal, name);
}

/// As guard_table().
void guard(lua_State* lua) {
  lua_newtable(lua);
  lua_createtable(lua, 0, 4);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, &refuse_write);
  lua_setfield(lua, -2, "__newindex");
  push_key(lua, kRealTable);
  lua_pushvalue(lua, -4);
  lua_rawset(lua, -3);
  lua_setmetatable(lua, -2);
  lua_replace(lua, -2);
}

/// Guards the table that stands as `name` in the one on top of the stack.
void guard_field(lua_State* lua, const char* name) {
  lua_getfield(lua, -1, name);
  guard(lua);
  lua_setfield(lua, -2, name);
}

/// Pushes a guarded metatable whose __index is the value on top of the stack.
void push_visible_metatable(lua_State* lua) {
  lua_newtable(lua);
  lua_pushvalue(lua, -2);
  lua_setfield(lua, -2, "__index");
  guard(lua);
}

/// Strings share one metatable. Scripts see one that looks like it.
void guard_string_metatable(lua_State* lua) {
  lua_getfield(lua, -1, LUA_STRLIBNAME);
  push_visible_metatable(lua);
  LuaContext::of(lua).string_metatable = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pop(lua, 1);
}

/// Makes it an error to read a missing field of the table on top of the stack.
void refuse_unknown_globals(lua_State* lua) {
  lua_newtable(lua);
  lua_pushcfunction(lua, &refuse_unknown_global);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

/// Keeps the table on top of the stack, before anything in it is guarded, for scripts that need no
/// guard (lua_globals.h). No other way leads to it.
void keep_plain_globals(lua_State* lua) {
  lua_newtable(lua);
  lua_pushnil(lua);
  while (lua_next(lua, -3) != 0) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -4);
  }
  refuse_unknown_globals(lua);
  LuaContext::of(lua).plain_globals = luaL_ref(lua, LUA_REGISTRYINDEX);
}

/// Guards the table on top of the stack and installs it as the scripts' globals.
void install_globals(lua_State* lua) {
  lua_pushvalue(lua, -1);
  guard_globals(lua);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  lua_replace(lua, LUA_GLOBALSINDEX);
  lua_pop(lua, 1);
}

}  // namespace

void guard_table(lua_State* lua) { guard(lua); }

void guard_globals(lua_State* lua) {
  refuse_unknown_globals(lua);
  guard(lua);
  lua_getmetatable(lua, -1);
  push_key(lua, kVisibleMetatable);
  lua_pushcfunction(lua, &refuse_unknown_global);
  push_visible_metatable(lua);
  lua_replace(lua, -2);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);  // the guard's metatable
}

bool push_guarded(lua_State* lua, int index) {
  if (lua_getmetatable(lua, index) == 0) return false;
  push_key(lua, kRealTable);
  lua_rawget(lua, -2);
  lua_replace(lua, -2);
  if (lua_istable(lua, -1)) return true;
  lua_pop(lua, 1);
  return false;
}

void push_visible_metatable_of_guard(lua_State* lua, int index) {
  lua_getmetatable(lua, index);
  push_key(lua, kVisibleMetatable);
  lua_rawget(lua, -2);
  lua_replace(lua, -2);
}

void open_sandbox(lua_State* lua) {
  push_selected_globals(lua);
  for (const OwnTable& table : kOwnTables) {
    table.push(lua);
    lua_setfield(lua, -2, table.name);
  }
  lua_pushcfunction(lua, &add_error_position);
  lua_setfield(lua, -2, "__redis__err__handler");
  install_random(lua);
  install_guarded_functions(lua);

  keep_plain_globals(lua);
  for (const std::string_view table : kSharedTables) guard_field(lua, table.data());
  guard_string_metatable(lua);
  install_globals(lua);
  install_function_globals(lua);
}

}  // namespace rushgate
