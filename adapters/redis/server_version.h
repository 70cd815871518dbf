// The oldest supported server. Private to this module.
#pragma once

#include <string>

#include <rushgate/reply.h>

namespace rushgate {

/// Returns the reason to refuse a server with this reply to INFO server: it is older than 6.2.
/// Empty if it is newer or does not report its version.
std::string refused_version(const Reply& info);

}  // namespace rushgate
