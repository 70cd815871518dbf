// maxmemory: while more than that is used, what takes memory is refused.
// Semantics: https://redis.io/docs/latest/develop/reference/eviction/, policy noeviction
#pragma once

#include "engine/commands/command_table.h"
#include "engine/script/shebang.h"

namespace rushgate {

/// Is a script to be refused? Only if its first line is a shebang that does not say otherwise.
bool asks_for_memory(const ScriptFlags& flags);

/// Does the request, whose row is `spec`, ask for memory? Commands with kDenyOom do, and a script
/// that asks for it.
bool asks_for_memory(const CommandContext& context, const CommandSpec& spec);

/// Is a client's request to be refused because too much memory is used? Between MULTI and EXEC
/// whatever it is.
bool lacks_memory(const CommandContext& context, const CommandSpec& spec);

}  // namespace rushgate
