// Commands that are containers of others: CONFIG GET, OBJECT ENCODING, XGROUP CREATE, …
#pragma once

#include <span>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/commands/command_context.h"

namespace rushgate {

struct Subcommand {
  std::string_view name;  // lower case
  Reply (*run)(CommandContext& context);
  int arity;  // as in the command table, `<command> <subcommand>` counted
};

/// Runs the one that argument 1 names. `command` is the container, in lower case.
Reply run_subcommand(CommandContext& context, std::string_view command,
                     std::span<const Subcommand> subcommands);
/// The answer to HELP.
Reply help_reply(std::span<const std::string_view> lines);

}  // namespace rushgate
