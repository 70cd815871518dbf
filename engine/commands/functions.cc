// FUNCTION: https://redis.io/docs/latest/develop/interact/programmability/functions-intro/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily function_commands() { return {CommandGroup::kScripting, {}}; }

}  // namespace rushgate
