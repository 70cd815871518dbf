// maxmemory: refuses commands that need memory while usage exceeds it. Semantics:
// https://redis.io/docs/latest/develop/reference/eviction/, policy noeviction
#pragma once

#include "engine/redis/commands/command_spec.h"
#include "engine/redis/script/shebang.h"

namespace rushgate {

/// Returns true if maxmemory applies: the script has a shebang without allow-oom.
bool asks_for_memory(const ScriptFlags& flags);

/// Returns true if maxmemory applies to the request, by the record of its command.
bool asks_for_memory(const CommandContext& context, const CommandSpec& spec);

/// Returns true if a client's request must be refused because memory is exhausted. Between MULTI
/// and EXEC this does not depend on the command.
bool lacks_memory(const CommandContext& context, const CommandSpec& spec);

}  // namespace rushgate
