#include "engine/redis/script/lua_json.h"

#include <cstddef>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_guarded_functions.h"
#include "engine/redis/script/lua_json_decoder.h"
#include "engine/redis/script/lua_json_encoder.h"

namespace rushgate {
namespace {

// The key, in the registry, of the table that scripts share.
constexpr char kSharedModule = 0;

void push_shared_module(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>(&kSharedModule));
  lua_rawget(lua, LUA_REGISTRYINDEX);
}

// lua-cjson itself is used only for its settings.

/// Calls the upvalue, one of lua-cjson's functions, for the settings that it returns.
void ask(lua_State* lua, int upvalue, int results) {
  lua_pushvalue(lua, lua_upvalueindex(upvalue));
  lua_call(lua, 0, results);
}

/// Adds a function of ours to the module on top of the stack. Its upvalues are lua-cjson's
/// functions of these names.
template <std::size_t kCount>
void replace(lua_State* lua, const char* name, const char* const (&settings)[kCount],
             lua_CFunction replacement) {
  int upvalues = 0;
  for (const char* const setting : settings) lua_getfield(lua, -1 - upvalues++, setting);
  lua_pushcclosure(lua, replacement, upvalues);
  lua_setfield(lua, -2, name);
}

// ---- encode ----

/// The upvalues of encode(): lua-cjson's functions for these settings.
constexpr const char* kEncodeSettings[] = {
    "encode_sparse_array",
    "encode_max_depth",
    "encode_number_precision",
    "encode_invalid_numbers",
};

JsonSettings encode_settings_of_module(lua_State* lua) {
  JsonSettings settings;
  ask(lua, 1, 3);
  settings.sparse_array_convert = lua_toboolean(lua, -3) != 0;
  settings.sparse_array_ratio = static_cast<int>(lua_tointeger(lua, -2));
  settings.sparse_array_safe = static_cast<int>(lua_tointeger(lua, -1));
  ask(lua, 2, 1);
  settings.max_depth = static_cast<int>(lua_tointeger(lua, -1));
  ask(lua, 3, 1);
  settings.number_precision = static_cast<int>(lua_tointeger(lua, -1));
  ask(lua, 4, 1);
  if (lua_type(lua, -1) == LUA_TSTRING) {
    settings.invalid_numbers = JsonSettings::InvalidNumbers::kNull;
  } else if (lua_toboolean(lua, -1) != 0) {
    settings.invalid_numbers = JsonSettings::InvalidNumbers::kWrite;
  }
  lua_settop(lua, 1);
  return settings;
}

int encode_with(lua_State* lua, bool has_usual_settings) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  encode_json(lua, has_usual_settings ? JsonSettings{} : encode_settings_of_module(lua));
  return 1;
}

/// encode of the shared table.
int encode(lua_State* lua) { return encode_with(lua, !LuaContext::of(lua).json_changed); }

/// encode of a script's own.
int encode_of_new(lua_State* lua) { return encode_with(lua, false); }

/// encode_keep_buffer([keep]) sets and returns a setting without effect, because there is no
/// buffer. The upvalue is the setting.
int keep_buffer(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) <= 1, 2, "found too many arguments");
  if (!lua_isnoneornil(lua, 1)) {
    static constexpr const char* kChoices[] = {"off", "on", nullptr};
    const bool keeps = lua_isboolean(lua, 1) ? lua_toboolean(lua, 1) != 0
                                             : luaL_checkoption(lua, 1, nullptr, kChoices) != 0;
    lua_pushboolean(lua, static_cast<int>(keeps));
    lua_replace(lua, lua_upvalueindex(1));
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  return 1;
}

/// Puts ours into the module on top of the stack, and has lua-cjson free its own buffer.
void replace_encode(lua_State* lua, lua_CFunction replacement) {
  lua_getfield(lua, -1, "encode_keep_buffer");
  lua_pushboolean(lua, 0);
  lua_call(lua, 1, 0);
  lua_pushboolean(lua, 1);
  lua_pushcclosure(lua, &keep_buffer, 1);
  lua_setfield(lua, -2, "encode_keep_buffer");

  replace(lua, "encode", kEncodeSettings, replacement);
}

// ---- decode ----

/// The upvalues of decode(), as those of encode().
constexpr const char* kDecodeSettings[] = {"decode_max_depth", "decode_invalid_numbers"};

JsonDecodeSettings decode_settings_of_module(lua_State* lua) {
  JsonDecodeSettings settings;
  ask(lua, 1, 1);
  settings.max_depth = static_cast<int>(lua_tointeger(lua, -1));
  ask(lua, 2, 1);
  settings.invalid_numbers = lua_toboolean(lua, -1) != 0;
  lua_settop(lua, 1);
  return settings;
}

int decode_with(lua_State* lua, bool has_usual_settings) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  luaL_checkstring(lua, 1);  // makes a number a string
  decode_json(lua, has_usual_settings ? JsonDecodeSettings{} : decode_settings_of_module(lua));
  return 1;
}

/// decode of the shared table.
int decode(lua_State* lua) { return decode_with(lua, !LuaContext::of(lua).json_changed); }

/// decode of a script's own.
int decode_of_new(lua_State* lua) { return decode_with(lua, false); }

// ---- new, and settings ----

int create_json(lua_State* lua) {
  const int results = call_wrapped(lua);
  replace_encode(lua, &encode_of_new);
  replace(lua, "decode", kDecodeSettings, &decode_of_new);
  wrap_function(lua, "new", &create_json);
  return results;
}

int change_setting(lua_State* lua) {
  if (lua_gettop(lua) != 0) LuaContext::of(lua).json_changed = true;
  return call_wrapped(lua);
}

constexpr const char* kSettings[] = {
    "encode_sparse_array",     "encode_max_depth",   "decode_max_depth",
    "encode_number_precision", "encode_keep_buffer", "encode_invalid_numbers",
    "decode_invalid_numbers",
};

/// Wraps the module on top of the stack for sharing.
void wrap_shared(lua_State* lua) {
  replace_encode(lua, &encode);
  replace(lua, "decode", kDecodeSettings, &decode);
  wrap_function(lua, "new", &create_json);
  for (const char* setting : kSettings) wrap_function(lua, setting, &change_setting);
}

}  // namespace

void push_json(lua_State* lua) {
  lua_pushcfunction(lua, &luaopen_cjson);
  lua_call(lua, 0, 1);
  wrap_shared(lua);
  lua_pushlightuserdata(lua, const_cast<char*>(&kSharedModule));
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

void reset_json(lua_State* lua) {
  push_shared_module(lua);
  lua_pushcfunction(lua, &luaopen_cjson);
  lua_call(lua, 0, 1);
  wrap_shared(lua);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -5);
  }
  lua_pop(lua, 2);
}

}  // namespace rushgate
