// CLIENT PAUSE: https://redis.io/docs/latest/commands/client-pause/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily pause_commands() { return {CommandGroup::kConnection, {}}; }

}  // namespace rushgate
