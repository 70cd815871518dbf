// Scripts that run although the keyspace's memory is exhausted.
#pragma once

#include <string>
#include <string_view>

#include "engine/core/base/concat.h"

namespace rushgate {

/// Returns the Lua script for a second try, after the error OOM: maxmemory does not apply to it. Redis keeps
/// to that from the script's beginning to its end.
inline std::string allow_oom(std::string_view text) {
  return concat("#!lua flags=allow-oom\n", text);
}

}  // namespace rushgate
