// CLIENT TRACKING: https://redis.io/docs/latest/commands/client-tracking/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily tracking_commands() { return {CommandGroup::kConnection, {}}; }

}  // namespace rushgate
