#include "engine/redis/script/lua_function_globals.h"

#include <algorithm>
#include <string_view>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_register_function.h"
#include "engine/redis/script/lua_sandbox.h"

namespace rushgate {
namespace {

/// The globals of scripts that functions do not have, or have as tables of their own.
constexpr std::string_view kNotShared[] = {"KEYS", "ARGV", "__redis__err__handler", "_G", "redis"};

/// The fields of `redis` that functions do not have.
constexpr const char* kOfScriptsAlone[] = {"replicate_commands", "breakpoint", "debug"};

/// The fields of `redis` while a library is loaded, besides register_function.
constexpr const char* kOfLoading[] = {
    "log",         "LOG_DEBUG",     "LOG_VERBOSE",      "LOG_NOTICE",
    "LOG_WARNING", "REDIS_VERSION", "REDIS_VERSION_NUM"};

/// Copies the fields of the table at `from` to the table on top of the stack, except those named
/// in kNotShared.
void copy_fields(lua_State* lua, int from) {
  lua_pushnil(lua);
  while (lua_next(lua, from) != 0) {
    std::string_view name;
    if (lua_type(lua, -2) == LUA_TSTRING) name = lua_tostring(lua, -2);
    if (std::ranges::count(kNotShared, name) > 0) {
      lua_pop(lua, 1);
      continue;
    }
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -4);
  }
}

/// Pushes the `redis` of functions. The one of scripts is at `redis`.
void push_redis_of_call(lua_State* lua, int redis) {
  lua_newtable(lua);
  copy_fields(lua, redis);
  for (const char* const name : kOfScriptsAlone) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
  }
  guard_table(lua);
}

/// Pushes the `redis` of libraries that are loaded.
void push_redis_of_load(lua_State* lua, int redis) {
  lua_newtable(lua);
  for (const char* const name : kOfLoading) {
    lua_getfield(lua, redis, name);
    lua_setfield(lua, -2, name);
  }
  lua_pushcfunction(lua, &register_function);
  lua_setfield(lua, -2, "register_function");
  guard_globals(lua);
}

/// Puts the set of globals `real` behind the functions' guard, and makes it the globals.
void use_function_globals(lua_State* lua, int real) {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).function_globals.of_functions);
  lua_getmetatable(lua, -1);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, real);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 1);
  lua_replace(lua, LUA_GLOBALSINDEX);
}

}  // namespace

void install_function_globals(lua_State* lua) {
  FunctionGlobals& references = LuaContext::of(lua).function_globals;
  const int bottom = lua_gettop(lua);
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  references.of_scripts = luaL_ref(lua, LUA_REGISTRYINDEX);

  const int of_scripts = bottom + 1;
  push_guarded(lua, LUA_GLOBALSINDEX);
  const int redis = bottom + 2;
  lua_getfield(lua, of_scripts, "redis");
  push_guarded(lua, redis);
  lua_replace(lua, redis);

  lua_newtable(lua);
  push_redis_of_load(lua, redis);
  lua_setfield(lua, -2, "redis");
  guard_globals(lua);  // for the errors of missing names
  push_guarded(lua, -1);
  references.while_loaded = luaL_ref(lua, LUA_REGISTRYINDEX);

  lua_newtable(lua);
  copy_fields(lua, of_scripts);
  push_redis_of_call(lua, redis);
  lua_setfield(lua, -2, "redis");
  lua_pushvalue(lua, -1);
  guard_globals(lua);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  references.of_functions = luaL_ref(lua, LUA_REGISTRYINDEX);
  references.while_called = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_settop(lua, bottom);

  // The first luaL_unref() allocates; later ones, of libraries that are removed, do not.
  lua_pushboolean(lua, 1);
  luaL_unref(lua, LUA_REGISTRYINDEX, luaL_ref(lua, LUA_REGISTRYINDEX));
}

void use_globals_of_call(lua_State* lua) {
  use_function_globals(lua, LuaContext::of(lua).function_globals.while_called);
}

void use_globals_of_load(lua_State* lua) {
  use_function_globals(lua, LuaContext::of(lua).function_globals.while_loaded);
}

void use_globals_of_scripts(lua_State* lua) {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).function_globals.of_scripts);
  lua_replace(lua, LUA_GLOBALSINDEX);
}

}  // namespace rushgate
