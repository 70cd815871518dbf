// DEBUG: https://redis.io/docs/latest/commands/debug/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily debug_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
