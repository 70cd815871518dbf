// maxmemory: while more than that is used, what takes memory is refused.
// Semantics: https://redis.io/docs/latest/develop/reference/eviction/, policy noeviction
#pragma once

#include "engine/commands/command_table.h"

namespace rushgate {

/// Does the request, whose row is `spec`, ask for memory? Commands with kDenyOom do, and a script
/// whose first line is a shebang that does not say that it needs none.
bool asks_for_memory(const CommandContext& context, const CommandSpec& spec);

/// Is a client's request to be refused because too much memory is used? Between MULTI and EXEC
/// whatever it is.
bool lacks_memory(const CommandContext& context, const CommandSpec& spec);

}  // namespace rushgate
