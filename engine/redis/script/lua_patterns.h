// The pattern functions of Lua's string library. Private to the script module. Semantics:
// https://www.lua.org/manual/5.1/manual.html#5.4
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Installs find, match, gmatch (also as gfind) and gsub in the string library on top of the
/// stack.
void install_pattern_functions(lua_State* lua);

}  // namespace rushgate
