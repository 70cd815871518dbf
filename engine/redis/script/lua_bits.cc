#include "engine/redis/script/lua_bits.h"

#include <limits>

#include "engine/redis/script/lua_guarded_functions.h"

namespace rushgate {
namespace {

/// bit.tohex(number [, digits]): BitOp takes a negative count for capitals, and negates it. The
/// smallest integer has no positive counterpart, and BitOp would overwrite memory.
int to_hex(lua_State* lua) {
  constexpr lua_Number kSmallest = std::numeric_limits<int>::min();
  constexpr lua_Number kAllInCapitals = -8;
  if (lua_isnumber(lua, 2) != 0) {
    lua_pushvalue(lua, lua_upvalueindex(1));  // tobit: BitOp's conversion of the count
    lua_pushvalue(lua, 2);
    lua_call(lua, 1, 1);
    const bool is_smallest = lua_tonumber(lua, -1) == kSmallest;
    lua_pop(lua, 1);
    if (is_smallest) {
      lua_pushnumber(lua, kAllInCapitals);
      lua_replace(lua, 2);
    }
  }
  return call_wrapped(lua);
}

}  // namespace

void push_bits(lua_State* lua) {
  lua_pushcfunction(lua, &luaopen_bit);
  lua_call(lua, 0, 1);
  lua_getfield(lua, -1, "tobit");
  lua_getfield(lua, -2, "tohex");
  lua_pushcclosure(lua, &to_hex, 2);
  lua_setfield(lua, -2, "tohex");
}

}  // namespace rushgate
