// Conversion between replies and Lua values, as in Redis. Private to the script module. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#data-type-conversion
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/redis/script/lua.h"
#include "engine/redis/script/lua_context.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Pushes `reply`, which must not be a local of the caller, as seen under `protocol`.
void push_reply(lua_State* lua, const Reply& reply, int protocol);

/// Converts the value on top of the stack to the result, which must not be a local variable of the
/// caller. Uses no metamethods. Raises only Lua's "not enough memory". A value above the memory
/// limit becomes an error.
void to_result(lua_State* lua, int protocol, LuaResult& result);

/// Sets the result to this error. `is_counted`: the error is the reply of a command.
void set_error(LuaResult& result, const std::string& text, bool is_counted);

/// If this field of an error (a table) is true, the error is the reply of a command and is counted
/// once. Scripts can see the field, as in Redis.
constexpr char kIsCounted[] = "ignore_error_stats_update";

/// Formats `number` as Redis passes it to a command: integral numbers below 1e17 as integers. The
/// result is in `text`.
std::string_view write_number(lua_Number number, NumberText& text);

/// Returns the string or number at `index` as a string, which Lua owns.
inline std::string_view string_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const data = lua_tolstring(lua, index, &size);
  return {data, size};
}

/// Replaces the line breaks of `text`, as statuses and errors require. (Callers pass C strings: as
/// in Redis, strings end at the first zero byte.)
std::string one_line(std::string_view text);
/// As one_line(), without trailing line breaks.
std::string error_line(std::string_view text);

}  // namespace rushgate
