// Errors in the interpreter: tables with the message in `err`, as in Redis. Private to the script
// module.
#pragma once

#include <string_view>

#include "engine/redis/script/lua.h"

namespace rushgate {

/// Pushes {err = `text`}.
void push_error(lua_State* lua, std::string_view text);

/// Raises {err = `text`}; never returns.
int raise_error(lua_State* lua, std::string_view text);

/// The handler of uncaught errors: converts the raised value to a table and adds the position.
/// Scripts see it as __redis__err__handler.
int add_error_position(lua_State* lua);

}  // namespace rushgate
