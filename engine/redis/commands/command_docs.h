// COMMAND DOCS: https://redis.io/docs/latest/commands/command-docs/
#pragma once

#include <rushgate/reply.h>

namespace rushgate {

class CommandContext;

/// Replies with the documentation in the records.
Reply command_docs_command(CommandContext& context);

}  // namespace rushgate
