// LATENCY: https://redis.io/docs/latest/commands/latency-histogram/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily latency_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
