// Commands on the bits of strings: https://redis.io/docs/latest/commands/?group=bitmap
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily bitmap_commands() { return {CommandGroup::kBitmap, {}}; }

}  // namespace rushgate
