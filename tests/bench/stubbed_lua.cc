#include "tests/bench/stubbed_lua.h"

#include <span>
#include <string_view>

#include <lua.hpp>

#include "engine/core/base/numbers.h"
#include "tests/bench/seckill_script.h"
#include "tests/bench/shop.h"
#include "tests/bench/stopwatch.h"
#include "tests/bench/users.h"

namespace rushgate::bench {
namespace {

int answer(lua_State* lua) {
  const std::string_view command = lua_tostring(lua, 1);
  if (command == "GET") {
    lua_pushliteral(lua, "1000000");
  } else if (command == "XADD") {
    lua_pushliteral(lua, "1700000000123-0");
  } else {
    lua_pushinteger(lua, command == "SISMEMBER" ? 0 : 1);
  }
  return 1;
}

void set_list(lua_State* lua, const char* name, std::span<const std::string_view> texts) {
  lua_createtable(lua, static_cast<int>(texts.size()), 0);
  int index = 0;
  for (const std::string_view text : texts) {
    lua_pushlstring(lua, text.data(), text.size());
    lua_rawseti(lua, -2, ++index);
  }
  lua_setglobal(lua, name);
}

}  // namespace

StubbedLua::StubbedLua() : lua_(luaL_newstate()) {
  luaL_openlibs(lua_);
  lua_createtable(lua_, 0, 1);
  lua_pushcfunction(lua_, &answer);
  lua_setfield(lua_, -2, "call");
  lua_setglobal(lua_, "redis");
  // The script stays at position 1 of the stack.
  if (luaL_loadstring(lua_, seckill_script().text().c_str()) != 0) fail(lua_tostring(lua_, -1));
}

StubbedLua::~StubbedLua() { lua_close(lua_); }

double StubbedLua::rate(std::int64_t first, std::int64_t count) {
  const std::string_view keys[] = {kStockKey, kBuyersKey, kOrderStream};
  const Stopwatch watch;
  for (std::int64_t i = 0; i < count; ++i) {
    const DecimalText user(user_id(first + i));
    const std::string_view arguments[] = {"1", user.view(), user.view()};
    set_list(lua_, "KEYS", keys);
    set_list(lua_, "ARGV", arguments);
    lua_pushvalue(lua_, 1);
    if (lua_pcall(lua_, 0, 1, 0) != 0) fail(lua_tostring(lua_, -1));
    if (lua_tointeger(lua_, -1) != 0) fail("the stubbed script refused");
    lua_pop(lua_, 1);
  }
  return static_cast<double>(count) / watch.seconds();
}

}  // namespace rushgate::bench
