// Commands on integers inside strings: https://redis.io/docs/latest/commands/bitfield/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily bitfield_commands() { return {CommandGroup::kBitmap, {}}; }

}  // namespace rushgate
