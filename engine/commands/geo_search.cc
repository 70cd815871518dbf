// Commands that find positions: https://redis.io/docs/latest/commands/geosearch/
#include "engine/commands/command_families.h"

namespace rushgate {

CommandFamily geo_search_commands() { return {CommandGroup::kGeo, {}}; }

}  // namespace rushgate
