// WAIT: https://redis.io/docs/latest/commands/wait/
#include <cstdint>
#include <optional>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/stream_errors.h"

namespace rushgate {
namespace {

/// There are no replicas: waiting for one ends with the timeout.
Reply wait_command(CommandContext& context) {
  Arguments arguments(context.request());
  const std::int64_t replicas = arguments.next_integer();
  const std::optional<std::int64_t> timeout_ms = parse_int64(context[2]);
  if (!timeout_ms) arguments.fail(errors::timeout_not_an_integer());
  if (timeout_ms && *timeout_ms < 0) arguments.fail(errors::negative_timeout());
  if (!arguments.ok()) return arguments.take_error();
  // As in Redis, 32 bits of the number count for a client that waits.
  if (replicas <= 0 || static_cast<std::int32_t>(replicas) <= 0) return Reply::integer(0);
  return context.block({.keys = {},
                        .timeout_ms = *timeout_ms,
                        .retry = Request(context.request()),
                        .on_timeout = Reply::integer(0)});
}

constexpr CommandSpec kWaitCommands[] = {
    {.name = "wait",
     .function = wait_command,
     .arity = 3,
     .flags = kNoScript | kAclConnection,
     .syntax = "numreplicas timeout",
     .summary = "Waits for the acknowledgements of replicas, until the timeout: there are none.",
     .since = "3.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily wait_commands() { return {CommandGroup::kGeneric, kWaitCommands}; }

}  // namespace rushgate
