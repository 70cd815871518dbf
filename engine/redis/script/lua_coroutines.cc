#include "engine/redis/script/lua_coroutines.h"

#include <cstddef>

#include "engine/redis/script/lua_context.h"
#include "engine/redis/script/lua_guarded_functions.h"

namespace rushgate {
namespace {

/// coroutine.create(function). The hook counts each coroutine's instructions separately, so short
/// ones would never be checked.
int create_coroutine(lua_State* lua) {
  constexpr std::size_t kSteps = 100;
  LuaContext::of(lua).spend(lua, kSteps);
  return call_wrapped(lua);
}

/// coroutine.resume(coroutine, argument, …)
int resume(lua_State* lua) {
  lua_State* const coroutine = lua_tothread(lua, 1);
  luaL_argcheck(lua, coroutine != nullptr, 1, "coroutine expected");
  LuaContext& context = LuaContext::of(lua);
  context.enter(coroutine);
  const int results = call_wrapped(lua);
  context.enter(lua);
  return context.interrupted() ? raise_interruption(lua) : results;
}

/// Returned by coroutine.wrap. Upvalues: the coroutine, and Lua's resume, which call_wrapped()
/// finds there.
int call_coroutine(lua_State* lua) {
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  const int results = resume(lua);
  const bool succeeded = lua_toboolean(lua, -results) != 0;
  if (succeeded) return results - 1;
  if (lua_isstring(lua, -1) != 0) {
    luaL_where(lua, 1);
    lua_insert(lua, -2);
    lua_concat(lua, 2);
  }
  return lua_error(lua);
}

/// coroutine.wrap(function). Upvalues: Lua's resume and create.
int wrap(lua_State* lua) {
  create_coroutine(lua);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_pushcclosure(lua, &call_coroutine, 2);
  return 1;
}

}  // namespace

void install_coroutine_functions(lua_State* lua) {
  lua_getfield(lua, -1, "resume");
  lua_getfield(lua, -2, "create");
  lua_pushcclosure(lua, &wrap, 2);
  lua_setfield(lua, -2, "wrap");
  wrap_function(lua, "create", &create_coroutine);
  wrap_function(lua, "resume", &resume);
}

}  // namespace rushgate
