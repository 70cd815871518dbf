// How long a blocking command may wait.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/commands/arguments.h"

namespace rushgate {

/// A number of seconds, as BLPOP and its like take it, in ms, rounded up; 0: for ever. An error is
/// latched in the Arguments. (XREAD BLOCK takes ms.)
std::int64_t read_timeout_seconds(Arguments& arguments, std::string_view seconds);

}  // namespace rushgate
