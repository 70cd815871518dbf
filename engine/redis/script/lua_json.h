// The table `cjson` of scripts: lua-cjson with bounds, and isolated between scripts. Private to the
// script module.
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_json(lua_State* lua);

/// Undoes a script's changes to the settings. (In Redis they affect all later
/// scripts.)
void reset_json(lua_State* lua);

}  // namespace rushgate
