// How long a command waits for a key.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/commands/arguments.h"

namespace rushgate {

/// A timeout in seconds, with any fraction, rounded up to ms; 0: none. An error is latched in the
/// Arguments.
std::int64_t read_timeout_ms(Arguments& arguments, std::string_view seconds);

}  // namespace rushgate
