// The table `cjson` of scripts: lua-cjson, bounded, and without what one script could do to the
// next. Private to the script room.
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// Pushes the table.
void push_json(lua_State* lua);

/// Takes back what a script did to the settings. (Redis does not: there, all later scripts get
/// them.)
void reset_json(lua_State* lua);

}  // namespace rushgate
