// Runs scripts in our host and in Lua's own interpreter, and compares the results.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <lua.hpp>

#include "tests/unit/script/lua_test.h"

extern "C" {
#include <lua-cjson.h>
}

namespace rushgate {

class LuaComparisonTest : public LuaTest {
 protected:
  /// Runs the script in an interpreter with Lua's own libraries and lua-cjson. It must return a
  /// string.
  static std::string run_by_lua(const std::string& script) {
    const std::unique_ptr<lua_State, decltype(&lua_close)> lua(luaL_newstate(), &lua_close);
    luaL_openlibs(lua.get());
    lua_pushcfunction(lua.get(), &luaopen_cjson);
    lua_call(lua.get(), 0, 1);
    lua_setglobal(lua.get(), "cjson");
    luaL_loadbuffer(lua.get(), script.data(), script.size(), "@user_script");
    lua_pcall(lua.get(), 0, 1, 0);
    std::size_t size = 0;
    const char* const result = lua_tolstring(lua.get(), -1, &size);
    return result == nullptr ? "no string" : std::string(result, size);
  }

  void expect_as_lua(const std::string& script) {
    EXPECT_EQ(eval(script).text(), run_by_lua(script)) << script;
  }
};

}  // namespace rushgate
