// The reply to INFO of a server.
#pragma once

#include <string_view>

namespace rushgate {

/// Returns the value of `field` in the reply; empty if it is not there.
std::string_view info_value(std::string_view info, std::string_view field);

}  // namespace rushgate
