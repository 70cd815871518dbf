// Parses the first line `#!lua flags=…` of a script. Semantics:
// https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags
#pragma once

#include <optional>
#include <string_view>

#include "engine/redis/script/script_flags.h"
#include <rushgate/reply.h>

namespace rushgate {

struct Shebang {
  ScriptFlags flags;
  /// The source from the end of the first line on, so that line numbers stay the same; all of it
  /// without such a line.
  std::string_view body;
};

/// Returns empty and sets `error` if the line is invalid. Options are separated by spaces; quotes
/// are not supported, unlike in Redis.
std::optional<Shebang> parse_shebang(std::string_view text, Reply& error);

}  // namespace rushgate
