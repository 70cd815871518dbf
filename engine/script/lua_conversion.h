// Replies to Lua values and back, as Redis converts them. Private to the script room.
// Semantics: https://redis.io/docs/latest/develop/programmability/lua-api/#data-type-conversion
#pragma once

#include <string>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/script/lua.h"
#include "engine/script/lua_context.h"

namespace rushgate {

/// Pushes `reply`, which must not be a local of the caller, as a script under `protocol` sees it.
void push_reply(lua_State* lua, const Reply& reply, int protocol);

/// Makes the result, which must not be a local of the caller, of the value on top of the stack.
/// Uses no metamethods; raises no error but Lua's "not enough memory". A value that is larger than
/// the memory limit becomes an error.
void to_result(lua_State* lua, int protocol, LuaResult& result);

/// Makes the result this error alone. `is_counted`: a command was answered with it.
void set_error(LuaResult& result, const std::string& text, bool is_counted);

/// A true field of this name tells of an error (a table) that a command was answered with it, so
/// that it is counted once. As in Redis, scripts can see it.
constexpr char kIsCounted[] = "ignore_error_stats_update";

/// `number` as Redis passes it to a command, integral numbers below 1e17 as integers; stands in
/// `text`.
std::string_view write_number(lua_Number number, NumberText& text);

/// `text` with its line breaks replaced: what fits a status or an error. (Texts come here as C
/// strings: Redis, too, lets them end at the first zero byte.)
std::string one_line(std::string_view text);
/// The same without the line breaks at its end.
std::string error_line(std::string_view text);

}  // namespace rushgate
