// The whole command surface, on one screen of command_table.cc. A new command is a function, a row
// there, and a transcript.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/commands/command_context.h"

namespace rushgate {

/// Answers one command. Arity and flags have been checked. Checks all arguments before it changes
/// anything.
using CommandFunction = Reply (*)(CommandContext&);

/// As COMMAND INFO names them: https://redis.io/docs/latest/commands/command/
enum CommandFlag : std::uint32_t {
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kDenyOom = 1U << 2,
  kNoScript = 1U << 3,  // not to be called from a script
  kBlocking = 1U << 4,
  kFast = 1U << 5,
  kAllowBusy = 1U << 6,  // runs while a script is over its time
  kMovableKeys = 1U << 7,
  kNoAuth = 1U << 8,      // also for clients that have not said who they are
  kNotQueued = 1U << 9,   // runs between MULTI and EXEC, too
  kPubSub = 1U << 10,     // runs for a RESP2 client that has subscribed to something, too
  kContainer = 1U << 11,  // its first argument is a subcommand
  kEndsBatch = 1U << 12,  // changes how what its client sends next is read or answered
  kNoMulti = 1U << 13,    // not between MULTI and EXEC
};

struct CommandSpec {
  std::string_view name;  // lower case
  CommandFunction function;
  std::int16_t arity;  // with the name; negative: at least that many
  std::uint32_t flags;
  std::int16_t first_key;  // positions of the keys among the arguments; 0: none
  std::int16_t last_key;   // negative: from the end
  std::int16_t key_step;
};

std::span<const CommandSpec> command_table();

/// The row of `name`, in any case; null if there is none.
const CommandSpec* find_command(std::string_view name);

/// Looks the command up, checks arity and flags, and runs it.
Reply run_command(CommandContext& context);

/// The same for what a client sends: between MULTI and EXEC it is queued.
Reply run_client_command(CommandContext& context);

}  // namespace rushgate
