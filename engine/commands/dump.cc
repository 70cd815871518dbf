// DUMP and RESTORE: https://redis.io/docs/latest/commands/dump/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily dump_commands() { return {CommandGroup::kGeneric, {}}; }

}  // namespace rushgate
