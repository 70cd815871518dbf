// Commands of replication: https://redis.io/docs/latest/commands/role/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily replication_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
