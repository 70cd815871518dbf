// cjson.encode as in lua-cjson 2.1, interruptible and with counted memory. Private to
// the script module. Semantics:
// https://www.kyne.au/~mark/software/lua-cjson-manual.html
#pragma once

#include "engine/redis/script/lua.h"

namespace rushgate {

/// The settings of lua-cjson's functions of these names.
struct JsonSettings {
  bool sparse_array_convert = false;
  int sparse_array_ratio = 2;
  int sparse_array_safe = 10;
  int max_depth = 1'000;
  int number_precision = 14;
  enum class InvalidNumbers : unsigned char { kRaise, kWrite, kNull };
  InvalidNumbers invalid_numbers = InvalidNumbers::kRaise;
};

/// Pushes the value on top of the stack as JSON. Raises the same errors as lua-cjson.
void encode_json(lua_State* lua, const JsonSettings& settings);

}  // namespace rushgate
