// The output of MONITOR.
#pragma once

#include "engine/redis/commands/command_context.h"

namespace rushgate {

/// Sends the request to all clients that monitor the engine, in Redis's form. Arguments with
/// passwords are redacted.
void show_to_monitors(const CommandContext& context);

}  // namespace rushgate
