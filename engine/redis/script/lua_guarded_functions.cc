#include "engine/redis/script/lua_guarded_functions.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/core/base/numbers.h"
#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_coroutines.h"
#include "engine/redis/script/lua_errors.h"
#include "engine/redis/script/lua_patterns.h"
#include "engine/redis/script/lua_runner.h"
#include "engine/redis/script/lua_sandbox.h"
#include "engine/redis/script/lua_tables.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

// ---- Tables ----

/// Replaces the guard at `index` by its real table.
void see_through(lua_State* lua, int index) {
  if (push_guarded(lua, index)) lua_replace(lua, index);
}

int next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  see_through(lua, 1);
  lua_settop(lua, 2);
  if (lua_next(lua, 1) != 0) return 2;
  lua_pushnil(lua);
  return 1;
}

/// Never returns the real table: next() sees through the guard in each step.
int pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

int rawget(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checkany(lua, 2);
  see_through(lua, 1);
  lua_settop(lua, 2);
  lua_rawget(lua, 1);
  return 1;
}

int rawset(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checkany(lua, 2);
  luaL_checkany(lua, 3);
  refuse_guard(lua, 1);
  lua_settop(lua, 3);
  lua_rawset(lua, 1);
  return 1;
}

int get_metatable(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_type(lua, 1) == LUA_TSTRING) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, LuaContext::of(lua).string_metatable);
  } else if (push_guarded(lua, 1)) {
    push_visible_metatable_of_guard(lua, 1);
  } else if (lua_getmetatable(lua, 1) == 0) {
    lua_pushnil(lua);
  } else {
    luaL_getmetafield(lua, 1, "__metatable");  // in its place, if there is one
  }
  return 1;
}

int set_metatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int type = lua_type(lua, 2);
  luaL_argcheck(lua, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
  if (luaL_getmetafield(lua, 1, "__metatable") != 0) {
    return luaL_error(lua, "cannot change a protected metatable");
  }
  refuse_guard(lua, 1);
  lua_settop(lua, 2);
  lua_setmetatable(lua, 1);
  return 1;
}

/// unpack(list [, first [, last]]): Lua's own counts the elements in an int, which may
/// overflow.
int unpack_list(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const auto first = static_cast<int>(luaL_optinteger(lua, 2, 1));
  const auto size = static_cast<lua_Integer>(lua_objlen(lua, 1));
  const auto last = static_cast<int>(luaL_optinteger(lua, 3, size));
  if (std::int64_t{last} - first >= std::numeric_limits<int>::max()) {
    return luaL_error(lua, "too many results to unpack");
  }
  return call_wrapped(lua);
}

// ---- Catching errors: interruptions pass through ----

/// As in Redis, returns the message of an error that is a table.
int protected_call(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0);
  LuaContext::of(lua).enter(lua);  // an error may have left a coroutine
  if (LuaContext::of(lua).interrupted()) return raise_interruption(lua);
  if (status == 0) return lua_gettop(lua);
  if (lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) == 0) lua_pop(lua, 1);
  }
  lua_pushboolean(lua, 0);
  lua_insert(lua, -2);
  return 2;
}

/// The upvalue is a script's handler. It is not called for an interruption: hooks are off inside
/// it, so it could not be stopped.
int call_error_handler(lua_State* lua) {
  if (LuaContext::of(lua).interrupted()) return 1;
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

/// xpcall(function, handler)
int protected_call_with_handler(lua_State* lua) {
  luaL_checkany(lua, 2);
  lua_settop(lua, 2);
  if (lua_tocfunction(lua, 2) != &add_error_position) {
    lua_pushcclosure(lua, &call_error_handler, 1);
  }
  lua_insert(lua, 1);
  const int status = lua_pcall(lua, 0, LUA_MULTRET, 1);
  LuaContext::of(lua).enter(lua);
  if (LuaContext::of(lua).interrupted()) return raise_interruption(lua);
  lua_pushboolean(lua, static_cast<int>(status == 0));
  lua_replace(lua, 1);
  return lua_gettop(lua);
}

// ---- Loading: source only ----

int function_or_error(lua_State* lua, int status) {
  if (LuaContext::of(lua).interrupted()) return raise_interruption(lua);
  if (status == 0) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

/// Keeps the chunk name alive. Lua copies it up to its first zero byte, and does not hold the copy
/// while it compiles (CVE-2025-49844).
void hold_name(lua_State* lua, const char* name) { lua_pushstring(lua, name); }

/// loadstring(source [, name])
int load_string(lua_State* lua) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, 1, &size);
  const char* const name = luaL_optstring(lua, 2, text);
  hold_name(lua, name);
  LuaContext::of(lua).lists_outdated = true;  // it may change KEYS
  return function_or_error(lua, load_text(lua, {text, size}, name));
}

/// load(function that gives pieces [, name])
int load(lua_State* lua) {
  const char* const name = luaL_optstring(lua, 2, "=(load)");
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  lua_settop(lua, 3);
  hold_name(lua, name);
  LuaContext::of(lua).lists_outdated = true;
  return function_or_error(lua, load_pieces(lua, name));
}

// ---- Long loops outside scripts' own instructions ----

/// rep(string, count); an empty string is not repeated in a loop.
int repeat_text(lua_State* lua) {
  std::size_t size = 0;
  luaL_checklstring(lua, 1, &size);
  const int count = luaL_checkint(lua, 2);
  if (size == 0) {
    lua_settop(lua, 1);
    return 1;
  }
  if (count > 0) LuaContext::of(lua).spend_on_bytes(lua, static_cast<std::size_t>(count) * size);
  return call_wrapped(lua);
}

// ---- Numbers ----

/// tonumber(value [, base]): avoids Lua's two calls of strtod for the common case, a string with an
/// integer.
int to_number(lua_State* lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, 1, &size);
    if (const auto integer = parse_int64({text, size})) {
      lua_pushnumber(lua, static_cast<lua_Number>(*integer));
      return 1;
    }
  }
  return call_wrapped(lua);
}

// ---- The collector ----

int collect_garbage(lua_State* lua) {
  constexpr std::size_t kSteps = 10'000;
  LuaContext& context = LuaContext::of(lua);
  context.collector_changed = true;
  context.spend(lua, kSteps);
  return call_wrapped(lua);
}

// ---- Installing ----

constexpr luaL_Reg kGuardedFunctions[] = {
    {"next", &next},
    {"rawget", &rawget},
    {"rawset", &rawset},
    {"getmetatable", &get_metatable},
    {"setmetatable", &set_metatable},
    {"pcall", &protected_call},
    {"xpcall", &protected_call_with_handler},
    {"load", &load},
    {"loadstring", &load_string},
    {nullptr, nullptr},
};

}  // namespace

// Redis's own functions name no line in this error.
void refuse_guard(lua_State* lua, int index) {
  if (!push_guarded(lua, index)) return;
  lua_pushstring(lua, script_errors::kReadOnlyTable);
  lua_error(lua);
}

void wrap_function(lua_State* lua, const char* name, lua_CFunction wrapper) {
  lua_getfield(lua, -1, name);
  if (lua_getupvalue(lua, -1, 1) == nullptr) lua_pushnil(lua);
  lua_insert(lua, -2);
  lua_pushcclosure(lua, wrapper, 2);  // the same upvalue, where the function looks for it
  lua_setfield(lua, -2, name);
}

int call_wrapped(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(2))(lua); }

void install_guarded_functions(lua_State* lua) {
  luaL_register(lua, nullptr, kGuardedFunctions);
  lua_getfield(lua, -1, "next");
  lua_pushcclosure(lua, &pairs, 1);
  lua_setfield(lua, -2, "pairs");

  lua_getglobal(lua, "collectgarbage");
  lua_setfield(lua, -2, "collectgarbage");
  wrap_function(lua, "collectgarbage", &collect_garbage);
  wrap_function(lua, "tonumber", &to_number);
  wrap_function(lua, "unpack", &unpack_list);
  lua_getfield(lua, -1, LUA_TABLIBNAME);
  install_table_functions(lua);
  lua_getfield(lua, -2, LUA_COLIBNAME);
  install_coroutine_functions(lua);
  lua_getfield(lua, -3, LUA_STRLIBNAME);
  install_pattern_functions(lua);
  wrap_function(lua, "rep", &repeat_text);
  lua_pop(lua, 3);
}

void reset_collector(lua_State* lua) {
  constexpr int kLuaDefault = 200;  // per cent
  lua_gc(lua, LUA_GCRESTART, 0);
  lua_gc(lua, LUA_GCSETSTEPMUL, kLuaDefault);
  LuaContext::of(lua).pace_collector();
}

}  // namespace rushgate
