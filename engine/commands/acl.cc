// ACL, for the only user: https://redis.io/docs/latest/commands/?group=server
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily acl_commands() { return {CommandGroup::kServer, {}}; }

}  // namespace rushgate
