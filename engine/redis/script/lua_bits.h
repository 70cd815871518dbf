// The table `bit` of scripts: Lua BitOp. Private to the script module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_bits(lua_State* lua);

}  // namespace rushgate
