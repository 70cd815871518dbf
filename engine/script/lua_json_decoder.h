// cjson.decode, as lua-cjson 2.1 does it, in a form that can be interrupted and counts its memory.
// Private to the script module.
// Semantics: https://www.kyne.au/~mark/software/lua-cjson-manual.html
#pragma once

#include "engine/script/lua.h"

namespace rushgate {

/// What lua-cjson's functions of these names set.
struct JsonDecodeSettings {
  int max_depth = 1'000;
  bool invalid_numbers = true;  // hexadecimal ones, infinity, NaN, leading zeros
};

/// Pushes the value of the JSON text at the bottom of the stack, which is a string. Raises an error
/// where lua-cjson does.
void decode_json(lua_State* lua, const JsonDecodeSettings& settings);

}  // namespace rushgate
