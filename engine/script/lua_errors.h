// Errors inside the interpreter: tables with the text in `err`, as Redis makes them. Private to the
// script room.
#pragma once

#include <string_view>

#include "engine/script/lua.h"

namespace rushgate {

/// Pushes {err = text}.
void push_error(lua_State* lua, std::string_view text);

/// Raises {err = text}; never returns.
int raise_error(lua_State* lua, std::string_view text);

/// The handler of errors that a script does not catch: makes a table of whatever was raised, and
/// adds where. Scripts see it as __redis__err__handler.
int add_error_position(lua_State* lua);

}  // namespace rushgate
