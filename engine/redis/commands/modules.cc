// MODULE: https://redis.io/docs/latest/commands/module-list/
// There are no modules. Tools ask for them to learn which commands of modules they may send.
#include <string_view>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/help_reply.h"

namespace rushgate {
namespace {

Reply module_list_command(CommandContext&) { return Reply::array(); }

/// As a Redis whose enable-module-command is `no`.
Reply module_refused_command(CommandContext&) {
  return Reply::error(
      "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", "
      "you can run it from a local connection, otherwise you need to set this option in the "
      "configuration file, and then restart the server.");
}

Reply module_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "LIST",
      "    Return a list of loaded modules.",
      "LOAD <path> [<arg> ...]",
      "    Load a module library from <path>, passing to it any optional arguments.",
      "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
      "    Load a module library from <path>, while passing it module configurations and optional "
      "arguments.",
      "UNLOAD <name>",
      "    Unload a module.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandFlags kChangesModules = kAdmin | kNoScript | kNoAsyncLoading;

constexpr CommandSpec kModuleCommands[] = {
    {.name = "module",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages modules: there are none.",
     .since = "4.0.0",
     .complexity = "Depends on the subcommand."},
    help_record("module|help", module_help_command, "5.0.0"),
    {.name = "module|list",
     .function = module_list_command,
     .arity = 2,
     .flags = kAdmin | kNoScript,
     .summary = "Returns an empty list: there are no modules.",
     .since = "4.0.0",
     .complexity = "O(N), N modules"},
    {.name = "module|load",
     .function = module_refused_command,
     .arity = -3,
     .flags = kChangesModules,
     .syntax = "path [arg [arg ...]]",
     .summary = "Is refused, as by a Redis that allows no modules.",
     .since = "4.0.0",
     .complexity = "O(1)"},
    {.name = "module|loadex",
     .function = module_refused_command,
     .arity = -3,
     .flags = kChangesModules,
     .syntax = "path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
     .summary = "Is refused, as by a Redis that allows no modules.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "module|unload",
     .function = module_refused_command,
     .arity = 3,
     .flags = kChangesModules,
     .syntax = "name",
     .summary = "Is refused, as by a Redis that allows no modules.",
     .since = "4.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily module_commands() { return {CommandGroup::kServer, kModuleCommands}; }

}  // namespace rushgate
