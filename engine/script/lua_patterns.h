// The functions of Lua's string library that match patterns. Private to the script room.
// Semantics: https://www.lua.org/manual/5.1/manual.html#5.4
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Puts find, match, gmatch (gfind, too) and gsub into the string library, which is on top of the
/// stack.
void install_pattern_functions(lua_State* lua);

}  // namespace rushgate
