// Timeouts of blocking commands.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/redis/commands/arguments.h"

namespace rushgate {

/// Parses seconds, as BLPOP and similar commands take them. Returns ms, rounded up; 0: wait for
/// ever. Latches errors in the Arguments. (XREAD BLOCK takes ms.)
std::int64_t read_timeout_seconds(Arguments& arguments, std::string_view seconds);

}  // namespace rushgate
