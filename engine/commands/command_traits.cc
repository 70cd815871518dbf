#include "engine/client/command_traits.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "engine/commands/command_table.h"

namespace rushgate {

std::optional<CommandTraits> find_command_traits(const Request& request) {
  const std::size_t words = std::min<std::size_t>(request.size(), 2);
  const std::string_view name[] = {request[0], request[words - 1]};
  const CommandSpec* const spec = find_command(RequestView(name, words));
  if (spec == nullptr) return std::nullopt;
  const bool may_block = spec->timeout != BlockTimeout::kNone;
  return CommandTraits{.connection = may_block ? ConnectionUse::kMayBlock : spec->connection,
                       .timeout = spec->timeout};
}

}  // namespace rushgate
