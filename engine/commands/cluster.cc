// Commands of a cluster: https://redis.io/docs/latest/commands/?group=cluster
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily cluster_commands() { return {CommandGroup::kCluster, {}}; }

}  // namespace rushgate
