// Commands that estimate the number of distinct elements: https://redis.io/docs/latest/commands/?group=hyperloglog
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily hyperloglog_commands() { return {CommandGroup::kHyperLogLog, {}}; }

}  // namespace rushgate
