// A script's first line, if it is `#!lua flags=…`.
// Semantics: https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags
#pragma once

#include <optional>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/script/lua_host.h"

namespace rushgate {

struct Shebang {
  ScriptFlags flags;
  /// The rest of the text, from the first line's end on, so that lines keep their numbers; all of
  /// it if there is no such line.
  std::string_view body;
};

/// Nothing with `error` set if the line is wrong. Options are separated by spaces; Redis's quotes
/// around them are not understood.
std::optional<Shebang> parse_shebang(std::string_view text, Reply& error);

}  // namespace rushgate
