// Commands about the connection: https://redis.io/docs/latest/commands/?group=connection
#include <cstdint>
#include <limits>

#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {

// PING [message]
Reply ping_command(CommandContext& context) {
  if (context.size() > 2) return errors::wrong_arity("ping");
  if (context.size() == 2) return Reply::bulk(context[1]);
  return Reply::status("PONG");
}

// SELECT index
Reply select_command(CommandContext& context) {
  Arguments arguments(context.request());
  const std::int64_t index =
      arguments.next_integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  if (!arguments.ok()) return arguments.take_error();
  if (index < 0 || index >= static_cast<std::int64_t>(Keyspace::kDatabases))
    return errors::no_such_database();
  context.session().db = static_cast<std::uint8_t>(index);
  return Reply::ok();
}

}  // namespace rushgate
