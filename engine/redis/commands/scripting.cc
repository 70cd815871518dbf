// EVAL and its variants, SCRIPT.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/memory_limit.h"
#include "engine/redis/commands/script_calls.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/script_errors.h"
#include "engine/redis/script/shebang.h"

namespace rushgate {
namespace {

Reply eval(CommandContext& context, bool read_only) {
  ScriptParameters parameters(context.request(), &errors::not_an_integer);
  if (parameters.error()) return *std::move(parameters.error());
  Reply error;
  const LuaScript* const script = context.services().lua.load(context[1], error);
  return script == nullptr ? error : run_lua(context, *script, parameters, read_only);
}

Reply evalsha(CommandContext& context, bool read_only) {
  constexpr std::size_t kSha1Size = 40;
  if (context[1].size() != kSha1Size) return script_errors::no_script();
  ScriptParameters parameters(context.request(), &errors::not_an_integer);
  if (parameters.error()) return *std::move(parameters.error());
  const LuaScript* const script = context.services().lua.find(context[1]);
  if (script == nullptr) return script_errors::no_script();
  return run_lua(context, *script, parameters, read_only);
}

Reply eval_command(CommandContext& context) { return eval(context, false); }

Reply eval_ro_command(CommandContext& context) { return eval(context, true); }

Reply evalsha_command(CommandContext& context) { return evalsha(context, false); }

Reply evalsha_ro_command(CommandContext& context) { return evalsha(context, true); }

// ---- SCRIPT ----

Reply script_load_command(CommandContext& context) {
  Reply error;
  const LuaScript* const script = context.services().lua.load(context[2], error);
  return script == nullptr ? error : Reply::bulk(script->sha1);
}

Reply script_exists_command(CommandContext& context) {
  Reply reply = Reply::array();
  for (std::size_t i = 2; i < context.size(); ++i) {
    reply.mutable_elements().push_back(
        Reply::integer(static_cast<std::int64_t>(context.services().lua.knows(context[i]))));
  }
  return reply;
}

Reply script_flush_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  if (!arguments.accept("sync")) arguments.accept("async");  // both have the same effect here
  if (!arguments.at_end()) return script_errors::bad_flush_option();
  context.services().lua.flush();
  return Reply::ok();
}

Reply script_debug_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  if (arguments.accept("no")) return Reply::ok();
  const bool asks_for_it = arguments.accept("yes") || arguments.accept("sync");
  return asks_for_it ? script_errors::no_debugger() : script_errors::bad_debug_option();
}

/// Runs in the middle of the script, called by the BusyMonitor.
Reply script_kill_command(CommandContext& context) {
  return kill_running_script(context.services(), ScriptKind::kScript);
}

Reply script_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "DEBUG (YES|SYNC|NO)",
      "    Set the debug mode for subsequent scripts executed.",
      "EXISTS <sha1> [<sha1> ...]",
      "    Return information about the existence of the scripts in the script cache.",
      "FLUSH [ASYNC|SYNC]",
      "    Flush the Lua scripts cache. Very dangerous on replicas.",
      "    When called without the optional mode argument, the behavior is determined by the",
      "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
      "    * ASYNC: Asynchronously flush the scripts cache.",
      "    * SYNC: Synchronously flush the scripts cache.",
      "KILL",
      "    Kill the currently executing Lua script.",
      "LOAD <script>",
      "    Load a script into the scripts cache without executing it.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- Memory ----

bool text_asks_for_memory(const CommandContext& context) {
  Reply error;
  const std::optional<Shebang> shebang = parse_shebang(context[1], error);
  return shebang && asks_for_memory(shebang->flags);
}

bool cached_script_asks_for_memory(const CommandContext& context) {
  const LuaScript* const script = context.services().lua.find(context[1]);
  return script != nullptr && asks_for_memory(script->flags);
}

// ---- Writes ----

bool never_writes(const ScriptFlags& flags) { return flags.declared && flags.no_writes; }

bool text_never_writes(const CommandContext& context) {
  Reply error;
  const std::optional<Shebang> shebang = parse_shebang(context[1], error);
  return shebang && never_writes(shebang->flags);
}

bool cached_script_never_writes(const CommandContext& context) {
  const LuaScript* const script = context.services().lua.find(context[1]);
  return script != nullptr && never_writes(script->flags);
}

// ---- The records ----

constexpr CommandSpec kScriptingCommands[] = {
    {.name = "eval",
     .function = eval_command,
     .arity = -3,
     .flags = kRunsScript | kPausedWithWrites,
     .asks_for_memory = text_asks_for_memory,
     .never_writes = text_never_writes,
     .syntax = "script numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs a Lua script.",
     .since = "2.6.0",
     .complexity = "Depends on the script."},
    {.name = "evalsha",
     .function = evalsha_command,
     .arity = -3,
     .flags = kRunsScript | kPausedWithWrites,
     .asks_for_memory = cached_script_asks_for_memory,
     .never_writes = cached_script_never_writes,
     .syntax = "sha1 numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs the Lua script with this SHA-1.",
     .since = "2.6.0",
     .complexity = "Depends on the script."},
    {.name = "eval_ro",
     .function = eval_ro_command,
     .arity = -3,
     .flags = kReadOnly | kRunsScript,
     .asks_for_memory = text_asks_for_memory,
     .syntax = "script numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs a Lua script that may not write.",
     .since = "7.0.0",
     .complexity = "Depends on the script."},
    {.name = "evalsha_ro",
     .function = evalsha_ro_command,
     .arity = -3,
     .flags = kReadOnly | kRunsScript,
     .asks_for_memory = cached_script_asks_for_memory,
     .syntax = "sha1 numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs the Lua script with this SHA-1, which may not write.",
     .since = "7.0.0",
     .complexity = "Depends on the script."},
    {.name = "script",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages the cached scripts.",
     .since = "2.6.0",
     .complexity = "Depends on the subcommand."},
    {.name = "script|load",
     .function = script_load_command,
     .arity = 3,
     .flags = kNoScript | kStale,
     .syntax = "script",
     .summary = "Caches a script for EVALSHA.",
     .since = "2.6.0",
     .complexity = "O(N), N bytes of the script"},
    {.name = "script|exists",
     .function = script_exists_command,
     .arity = -3,
     .flags = kNoScript,
     .syntax = "sha1 [sha1 ...]",
     .summary = "Returns for each script whether it is cached.",
     .since = "2.6.0",
     .complexity = "O(N), N scripts requested"},
    {.name = "script|flush",
     .function = script_flush_command,
     .arity = -2,
     .flags = kNoScript,
     .syntax = "[ASYNC | SYNC]",
     .summary = "Removes all cached scripts.",
     .since = "2.6.0",
     .complexity = "O(N), N scripts"},
    {.name = "script|kill",
     .function = script_kill_command,
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .summary = "Ends the running script, if it has written nothing.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "script|debug",
     .function = script_debug_command,
     .arity = 3,
     .flags = kNoScript,
     .syntax = "<YES | SYNC | NO>",
     .summary = "Accepts NO alone: there is no debugger.",
     .since = "3.2.0",
     .complexity = "O(1)"},
    help_record("script|help", script_help_command, "5.0.0"),
};

}  // namespace

CommandFamily scripting_commands() { return {CommandGroup::kScripting, kScriptingCommands}; }

}  // namespace rushgate
