// MONITOR: https://redis.io/docs/latest/commands/monitor/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily monitor_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
