// SAVE and similar commands: https://redis.io/docs/latest/commands/save/
//
// There are no snapshots. Saving makes everything so far safe against power loss, this commit batch
// included.
#include <cstdint>
#include <string>

#include "engine/core/base/time_units.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

/// Has the commit batch saved, and replies `done`. A failure replaces the replies of the batch.
Reply save(CommandContext& context, std::string done) {
  CommandServices& services = context.services();
  if (!services.write_refusal.empty()) return Reply::error(services.write_refusal);
  services.saves_batch = true;
  return Reply::status(std::move(done));
}

Reply save_command(CommandContext& context) { return save(context, "OK"); }

Reply bgsave_command(CommandContext& context) {
  Arguments arguments(context.request());
  if (!arguments.at_end() && !(arguments.accept("SCHEDULE") && arguments.at_end()))
    return errors::syntax();
  return save(context,
              context.may_wait() ? "Background saving started" : "Background saving scheduled");
}

Reply lastsave_command(CommandContext& context) {
  return Reply::integer(context.services().saved_ms / kMsPerSecond);
}

/// There is no file to rewrite: the store compacts its files itself.
Reply bgrewriteaof_command(CommandContext& context) {
  return Reply::status(context.may_wait() ? "Background append only file rewriting started"
                                          : "Background append only file rewriting scheduled");
}

// ---- The records ----

constexpr CommandFlags kSaves = kAdmin | kNoScript | kNoAsyncLoading;

constexpr CommandSpec kSavingCommands[] = {
    {.name = "save",
     .function = save_command,
     .arity = 1,
     .flags = kSaves | kNoMulti,
     .summary = "Makes all changes safe against power loss.",
     .since = "1.0.0",
     .complexity = "O(N), N bytes to sync"},
    {.name = "bgsave",
     .function = bgsave_command,
     .arity = -1,
     .flags = kSaves,
     .syntax = "[SCHEDULE]",
     .summary = "As SAVE, with the reply of a command that saves in the background.",
     .since = "1.0.0",
     .complexity = "O(N), N bytes to sync"},
    {.name = "lastsave",
     .function = lastsave_command,
     .arity = 1,
     .flags = kAnytime | kFast | kAclAdmin | kAclDangerous,
     .summary = "Returns the time of the last SAVE, or of the engine's opening.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "bgrewriteaof",
     .function = bgrewriteaof_command,
     .arity = 1,
     .flags = kSaves,
     .summary = "Has no effect: the store compacts its files itself.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily saving_commands() { return {CommandGroup::kServer, kSavingCommands}; }

}  // namespace rushgate
