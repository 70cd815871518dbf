// MEMORY: https://redis.io/docs/latest/commands/memory-usage/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily memory_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
