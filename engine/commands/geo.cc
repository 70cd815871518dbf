// Commands on positions: https://redis.io/docs/latest/commands/?group=geo
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily geo_commands() { return {CommandGroup::kGeo, {}}; }

}  // namespace rushgate
