#include "engine/redis/script/lua_errors.h"

#include <string_view>

namespace rushgate {
namespace {

/// Pushes the result of tostring() for the value at `index`, which is not a table.
void push_as_text(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
      lua_pushliteral(lua, "nil");
      return;
    case LUA_TBOOLEAN:
      lua_pushstring(lua, lua_toboolean(lua, index) != 0 ? "true" : "false");
      return;
    case LUA_TNUMBER:
    case LUA_TSTRING:
      lua_pushvalue(lua, index);
      return;
    default:
      lua_pushfstring(lua, "%s: %p", luaL_typename(lua, index), lua_topointer(lua, index));
      return;
  }
}

/// Finds the function that raised the error: the one below the handler, or its caller if it is a C
/// function such as error().
bool find_culprit(lua_State* lua, lua_Debug& culprit) {
  for (int level = 1; level <= 2; ++level) {
    if (lua_getstack(lua, level, &culprit) == 0) return false;
    lua_getinfo(lua, "Sl", &culprit);
    if (std::string_view(culprit.what) != "C") return true;
  }
  return true;
}

}  // namespace

void push_error(lua_State* lua, std::string_view text) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, text.data(), text.size());
  lua_setfield(lua, -2, "err");
}

int raise_error(lua_State* lua, std::string_view text) {
  luaL_checkstack(lua, 3, nullptr);
  push_error(lua, text);
  return lua_error(lua);
}

int add_error_position(lua_State* lua) {
  lua_settop(lua, 1);
  if (!lua_istable(lua, 1)) {
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "ERR ");
    push_as_text(lua, 1);
    lua_concat(lua, 2);
    lua_setfield(lua, 2, "err");
    lua_replace(lua, 1);
  }
  lua_Debug culprit;
  if (find_culprit(lua, culprit)) {
    lua_pushstring(lua, culprit.source);
    lua_setfield(lua, 1, "source");
    lua_pushinteger(lua, culprit.currentline);
    lua_setfield(lua, 1, "line");
  }
  return 1;
}

}  // namespace rushgate
