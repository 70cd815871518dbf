#include "engine/redis/script/lua_random.h"

#include <cmath>

#include "engine/redis/script/lua_context.h"

namespace rushgate {
namespace {

/// An argument as C's int, cut off as in Redis.
int int_argument(lua_State* lua, int index) {
  return static_cast<int>(luaL_checkinteger(lua, index));
}

/// math.random([[min,] max])
int random(lua_State* lua) {
  const lua_Number share =
      static_cast<lua_Number>(LuaContext::of(lua).random.next() % Rand48::kMax) / Rand48::kMax;
  const int arguments = lua_gettop(lua);
  if (arguments == 0) {
    lua_pushnumber(lua, share);
    return 1;
  }
  if (arguments > 2) return luaL_error(lua, "wrong number of arguments");
  const int min = arguments == 2 ? int_argument(lua, 1) : 1;
  const int max = int_argument(lua, arguments);
  luaL_argcheck(lua, min <= max, arguments, "interval is empty");
  // As in Redis the width is an int, which a wide interval makes overflow.
  const auto width = static_cast<int>(static_cast<unsigned>(max) - static_cast<unsigned>(min) + 1);
  lua_pushnumber(lua, std::floor(share * width) + min);
  return 1;
}

/// math.randomseed(seed)
int random_seed(lua_State* lua) {
  LuaContext::of(lua).random.seed(static_cast<std::uint32_t>(int_argument(lua, 1)));
  return 0;
}

}  // namespace

void install_random(lua_State* lua) {
  lua_getfield(lua, -1, LUA_MATHLIBNAME);
  lua_pushcfunction(lua, &random);
  lua_setfield(lua, -2, "random");
  lua_pushcfunction(lua, &random_seed);
  lua_setfield(lua, -2, "randomseed");
  lua_pop(lua, 1);
}

}  // namespace rushgate
