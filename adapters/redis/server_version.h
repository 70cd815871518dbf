// The oldest server that Rushgate can use. Private to this module.
#pragma once

#include <string>

#include "engine/client/reply.h"

namespace rushgate {

/// Returns why a server with this reply to INFO server is refused: it is older than 6.2. Empty if
/// it is not, or does not say.
std::string refused_version(const Reply& info);

}  // namespace rushgate
