// SHUTDOWN: https://redis.io/docs/latest/commands/shutdown/
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/script_calls.h"

namespace rushgate {
namespace {

struct ShutdownOptions {
  bool saves = false;
  bool saves_not = false;
  bool is_at_once = false;  // NOW: has no effect, as there are no replicas
  bool is_forced = false;
  bool aborts = false;
};

/// Returns false if the options contradict each other.
bool parse_options(const CommandContext& context, ShutdownOptions& options) {
  Arguments arguments(context.request());
  while (!arguments.at_end()) {
    if (arguments.accept("NOSAVE")) {
      options.saves_not = true;
    } else if (arguments.accept("SAVE")) {
      options.saves = true;
    } else if (arguments.accept("NOW")) {
      options.is_at_once = true;
    } else if (arguments.accept("FORCE")) {
      options.is_forced = true;
    } else if (arguments.accept("ABORT")) {
      options.aborts = true;
    } else {
      return false;
    }
  }
  const bool has_others =
      options.saves || options.saves_not || options.is_at_once || options.is_forced;
  return !(options.aborts && has_others) && !(options.saves && options.saves_not);
}

// Sends no reply: the connection and the server end. The server's owner syncs the changes of this
// commit batch. A script beyond its time limit is killed if it has not written.
Reply shutdown_command(CommandContext& context) {
  ShutdownOptions options;
  if (!parse_options(context, options)) return errors::syntax();
  if (options.aborts) return errors::no_shutdown();
  Session& session = context.session();
  if (session.outlet == nullptr || !session.outlet->is_of_server()) return errors::no_server();
  const bool saves = !options.saves_not;
  if (saves && !context.services().sync().ok() && !options.is_forced) {
    return errors::shutdown_failed();
  }
  if (context.services().running_script != nullptr) {
    Reply killed = kill_running_script(context.services());
    if (killed.is_error()) return killed;
  }
  session.outlet->shut_down(saves);
  session.is_closing = true;
  return Reply::several({});
}

// ---- The records ----

constexpr CommandSpec kShutdownCommands[] = {
    {.name = "shutdown",
     .function = shutdown_command,
     .arity = -1,
     .flags = kAdministers | kNoMulti | kAllowBusy | kEndsBatch,
     .syntax = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
     .summary = "Ends the server.",
     .since = "1.0.0",
     .complexity = "O(N), N bytes to sync"},
};

}  // namespace

CommandFamily shutdown_commands() { return {CommandGroup::kServer, kShutdownCommands}; }

}  // namespace rushgate
