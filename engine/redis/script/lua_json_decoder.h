// cjson.decode as in lua-cjson 2.1, interruptible and with counted memory. Private to
// the script module. Semantics:
// https://www.kyne.au/~mark/software/lua-cjson-manual.html
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// The settings of lua-cjson's functions of these names.
struct JsonDecodeSettings {
  int max_depth = 1'000;
  bool invalid_numbers = true;  // hexadecimal numbers, infinity, NaN, leading zeros
};

/// Pushes the value of the JSON string at the bottom of the stack. Raises the same errors as
/// lua-cjson.
void decode_json(lua_State* lua, const JsonDecodeSettings& settings);

}  // namespace rushgate
