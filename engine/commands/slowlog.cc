// SLOWLOG: https://redis.io/docs/latest/commands/slowlog-get/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily slowlog_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
