// Runs requests by the command table.
#pragma once

#include "engine/redis/commands/command_context.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Finds the command, checks arity and flags, and runs it.
Reply run_command(CommandContext& context);

/// As run_command(), for a client's request: between MULTI and EXEC it is queued.
Reply run_client_command(CommandContext& context);

}  // namespace rushgate
