#include "engine/redis/commands/client_pause.h"

#include <limits>
#include <optional>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {

bool may_write(const CommandContext& context, const CommandSpec& spec) {
  if ((spec.flags & kRunsQueue) != 0) {
    const std::optional<Transaction>& transaction = context.session().transaction;
    return transaction && transaction->may_write;
  }
  if ((spec.flags & kPausedWithWrites) == 0) return (spec.flags & kWrite) != 0;
  return spec.never_writes == nullptr || !spec.never_writes(context);
}

bool is_paused(const CommandContext& context, const CommandSpec& spec) {
  const CommandServices& services = context.services();
  if (services.running_script != nullptr) return false;  // SCRIPT KILL
  return services.pause.kind() == ClientPause::Kind::kAll || may_write(context, spec);
}

namespace {

Reply unknown_mode() { return Reply::error("ERR CLIENT PAUSE mode must be WRITE or ALL"); }
Reply timeout_not_an_integer() {
  return Reply::error("ERR timeout is not an integer or out of range");
}

Reply client_pause_command(CommandContext& context) {
  if (context.size() > 4) return errors::unknown_subcommand_or_arity("CLIENT", context[1]);
  Arguments arguments(context.request(), 3);
  ClientPause::Kind kind = ClientPause::Kind::kAll;
  if (arguments.accept("WRITE")) {
    kind = ClientPause::Kind::kWrites;
  } else if (!arguments.at_end() && !arguments.accept("ALL")) {
    return unknown_mode();
  }
  const std::optional<std::int64_t> timeout_ms = parse_int64(context[2]);
  if (!timeout_ms) return timeout_not_an_integer();
  if (*timeout_ms < 0) return errors::negative_timeout();
  const std::int64_t left_ms = std::numeric_limits<std::int64_t>::max() - context.now_ms();
  ClientPause& pause = context.services().pause;
  if (*timeout_ms > 0 || pause.is_active())
    pause.begin(kind, context.now_ms() + std::min(*timeout_ms, left_ms));
  return Reply::ok();
}

Reply client_unpause_command(CommandContext& context) {
  context.services().blocked.end_pause();
  return Reply::ok();
}

// ---- The records ----

constexpr CommandSpec kPauseCommands[] = {
    {.name = "client|pause",
     .function = client_pause_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "timeout [WRITE | ALL]",
     .summary = "Delays the requests of all clients for some milliseconds.",
     .since = "2.9.50",
     .complexity = "O(1)"},
    {.name = "client|unpause",
     .function = client_unpause_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Ends CLIENT PAUSE.",
     .since = "6.2.0",
     .complexity = "O(N), N delayed clients"},
};

}  // namespace

CommandFamily pause_commands() { return {CommandGroup::kConnection, kPauseCommands}; }

}  // namespace rushgate
