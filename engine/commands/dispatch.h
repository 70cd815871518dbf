// From a request to the function that answers it.
#pragma once

#include "engine/client/reply.h"
#include "engine/commands/command_context.h"

namespace rushgate {

/// Looks the command up, checks arity and flags, and runs it.
Reply run_command(CommandContext& context);

/// The same for what a client sends: between MULTI and EXEC it is queued.
Reply run_client_command(CommandContext& context);

}  // namespace rushgate
