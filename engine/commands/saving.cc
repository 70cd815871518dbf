// SAVE and similar commands: https://redis.io/docs/latest/commands/save/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily saving_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
