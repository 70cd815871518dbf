// SORT: https://redis.io/docs/latest/commands/sort/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily sort_commands() { return {CommandGroup::kGeneric, {}}; }

}  // namespace rushgate
