// FCALL, FCALL_RO, FUNCTION:
// https://redis.io/docs/latest/develop/interact/programmability/functions-intro/
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/function_libraries.h"
#include "engine/redis/commands/function_payload.h"
#include "engine/redis/commands/function_replies.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/memory_limit.h"
#include "engine/redis/commands/script_calls.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/script/function_errors.h"
#include "engine/redis/script/function_registry.h"
#include "engine/redis/script/library_source.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {
namespace {

constexpr std::string_view kLuaEngine = "LUA";

// ---- Calling a function ----

/// A C++ script does not report which of its keys it reads, so a client that tracks keys is taken
/// to have read all.
void remember_keys(const CommandContext& context, std::span<const std::string_view> keys) {
  Session& session = context.session();
  if (!session.tracking || !session.tracking->remembers_reads()) return;
  for (const std::string_view key : keys) context.services().tracking.remember(session, key);
}

/// A native script may write. So a read-only call is refused.
Reply call_native(CommandContext& context, const NativeHost::Entry& native, bool read_only) {
  CommandServices& services = context.services();
  if (!read_only && !services.write_refusal.empty()) return Reply::error(services.write_refusal);
  ScriptParameters parameters(context.request(), &script_errors::bad_number_of_keys);
  if (parameters.error()) return *std::move(parameters.error());
  if (read_only) return script_errors::write_script_called_read_only();
  ScriptCaller caller(context, false);
  const GrowthRule growth(services, false);
  const ScriptCall call = parameters.call(context, caller);
  Reply reply = NativeHost::run(native, context.db(), call);
  remember_keys(context, call.keys);
  if (reply.is_error() && reply.text() == caller.last_error()) {
    context.set_failures(1);  // an error of a command: counted already
  }
  return reply;
}

Reply call_function(CommandContext& context, bool read_only) {
  if (const auto* const native = context.services().natives.find(context[1])) {
    return call_native(context, *native, read_only);
  }
  const LuaFunction* const function = function_registry(context).current().find(context[1]);
  if (function == nullptr) return script_errors::no_function();
  ScriptParameters parameters(context.request(), &script_errors::bad_number_of_keys);
  if (parameters.error()) return *std::move(parameters.error());
  return run_lua(context, *function, parameters, read_only);
}

Reply fcall_command(CommandContext& context) { return call_function(context, false); }

Reply fcall_ro_command(CommandContext& context) { return call_function(context, true); }

bool function_asks_for_memory(const CommandContext& context) {
  if (context.services().natives.knows(context[1])) return false;  // its first write is refused
  const LuaFunction* const function = function_registry(context).current().find(context[1]);
  return function != nullptr && asks_for_memory(function->flags);
}

/// Native scripts may write.
bool function_never_writes(const CommandContext& context) {
  if (context.services().natives.knows(context[1])) return false;
  const LuaFunction* const function = function_registry(context).current().find(context[1]);
  return function != nullptr && function->flags.no_writes;
}

// ---- Changing the libraries ----

/// As in Redis, the line breaks at its end are left out.
Reply unknown_option(std::string_view option) {
  while (option.ends_with('\r') || option.ends_with('\n')) option.remove_suffix(1);
  return errors::one_line(function_errors::unknown_option(option));
}

Reply function_load_command(CommandContext& context) {
  const std::size_t last = context.size() - 1;
  bool replaces = false;
  for (std::size_t i = 2; i < last; ++i) {
    if (!is_keyword(context[i], "replace")) return unknown_option(errors::as_c_string(context[i]));
    replaces = true;
  }
  Reply error;
  const std::optional<LibrarySource> source = parse_library(context[last], error);
  if (!source) return error;
  LibrarySet libraries = function_registry(context).current();
  const bool exists = libraries.erase(source->name);
  if (exists && !replaces) return function_errors::library_exists(source->name);
  auto library = load_library(context, *source, error);
  if (library == nullptr) return error;
  if (auto refusal = add_library(context, libraries, std::move(library))) return *refusal;
  set_libraries(context, std::move(libraries));
  return Reply::bulk(source->name);
}

Reply function_delete_command(CommandContext& context) {
  LibrarySet libraries = function_registry(context).current();
  if (!libraries.erase(context[2])) return function_errors::no_library();
  set_libraries(context, std::move(libraries));
  return Reply::ok();
}

Reply function_flush_command(CommandContext& context) {
  if (context.size() > 3) return errors::unknown_subcommand_or_arity("FUNCTION", context[1]);
  Arguments arguments(context.request(), 2);
  if (!arguments.accept("sync")) arguments.accept("async");  // both have the same effect here
  if (!arguments.at_end()) return function_errors::flush_option();
  if (!function_registry(context).current().libraries().empty()) set_libraries(context, {});
  return Reply::ok();
}

// ---- DUMP and RESTORE ----

Reply function_dump_command(CommandContext& context) {
  LibraryPayloadWriter payload;
  for (const auto& [name, library] : function_registry(context).current().libraries()) {
    payload.add(library->code());
  }
  return Reply::bulk(payload.finish());
}

Reply function_restore_command(CommandContext& context) {
  if (context.size() > 4) return errors::unknown_subcommand_or_arity("FUNCTION", context[1]);
  Arguments arguments(context.request(), 3);
  const bool flushes = arguments.accept("flush");
  const bool replaces = !flushes && arguments.accept("replace");
  if (!flushes && !replaces) arguments.accept("append");
  if (!arguments.at_end()) return function_errors::restore_policy();
  Reply error;
  const std::optional<LibrarySet> restored = load_payload(context, context[2], error);
  if (!restored) return error;

  LibrarySet libraries = flushes ? LibrarySet() : function_registry(context).current();
  for (const auto& [name, library] : restored->libraries()) {
    if (libraries.erase(name) && !replaces) return function_errors::restored_library_exists(name);
  }
  for (const auto& [name, library] : restored->libraries()) {
    if (auto refusal = add_library(context, libraries, library)) return *refusal;
  }
  set_libraries(context, std::move(libraries));
  return Reply::ok();
}

// ---- LIST and STATS ----

struct ListOptions {
  std::optional<std::string_view> pattern;
  bool with_code = false;

  [[nodiscard]] bool wants(std::string_view name) const {
    return !pattern || glob_matches_in_any_case(*pattern, name);
  }
};

/// Returns the error, if the arguments are invalid.
std::optional<Reply> read_options(RequestView request, ListOptions& options) {
  for (std::size_t i = 2; i < request.size(); ++i) {
    if (!options.with_code && is_keyword(request[i], "withcode")) {
      options.with_code = true;
    } else if (!options.pattern && is_keyword(request[i], "libraryname")) {
      if (++i == request.size()) return function_errors::no_pattern();
      options.pattern = request[i];
    } else {
      return errors::one_line(function_errors::unknown_argument(errors::as_c_string(request[i])));
    }
  }
  return std::nullopt;
}

Reply function_list_command(CommandContext& context) {
  ListOptions options;
  if (auto error = read_options(context.request(), options)) return *std::move(error);
  Reply reply = Reply::array();
  std::vector<Reply>& entries = reply.mutable_elements();
  for (const auto& [name, library] : function_registry(context).current().libraries()) {
    if (!options.wants(name)) continue;
    std::vector<Reply> functions;
    for (const LuaFunction& function : library->functions())
      functions.push_back(function_replies::function(function));
    entries.push_back(function_replies::library(name, kLuaEngine, std::move(functions),
                                                options.with_code ? &library->code() : nullptr));
  }
  return reply;
}

/// May run in the middle of a function, called by the BusyMonitor.
Reply function_stats_command(CommandContext& context) {
  const CommandServices& services = context.services();
  const RunningScript* const running = services.running_script;
  if (running != nullptr && !running->is_function()) return script_errors::busy();
  const LibrarySet& libraries = function_registry(context).current();
  std::vector<Reply> engines = {
      Reply::bulk(kLuaEngine),
      function_replies::engine(libraries.libraries().size(), libraries.functions())};
  return Reply::map({Reply::bulk("running_script"),
                     running == nullptr ? Reply::nil() : function_replies::running(*running),
                     Reply::bulk("engines"), Reply::map(std::move(engines))});
}

/// Runs in the middle of the function, called by the BusyMonitor.
Reply function_kill_command(CommandContext& context) {
  return kill_running_script(context.services(), ScriptKind::kFunction);
}

Reply function_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "LOAD [REPLACE] <FUNCTION CODE>",
      "    Create a new library with the given library name and code.",
      "DELETE <LIBRARY NAME>",
      "    Delete the given library.",
      "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
      "    Return general information on all the libraries:",
      "    * Library name",
      "    * The engine used to run the Library",
      "    * Library description",
      "    * Functions list",
      "    * Library code (if WITHCODE is given)",
      "    It also possible to get only function that matches a pattern using LIBRARYNAME "
      "argument.",
      "STATS",
      "    Return information about the current function running:",
      "    * Function name",
      "    * Command used to run the function",
      "    * Duration in MS that the function is running",
      "    If no function is running, return nil",
      "    In addition, returns a list of available engines.",
      "KILL",
      "    Kill the current running function.",
      "FLUSH [ASYNC|SYNC]",
      "    Delete all the libraries.",
      "    When called without the optional mode argument, the behavior is determined by the",
      "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
      "    * ASYNC: Asynchronously flush the libraries.",
      "    * SYNC: Synchronously flush the libraries.",
      "DUMP",
      "    Return a serialized payload representing the current libraries, can be restored using "
      "FUNCTION RESTORE command",
      "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
      "    Restore the libraries represented by the given payload, it is possible to give a "
      "restore "
      "policy to",
      "    control how to handle existing libraries (default APPEND):",
      "    * FLUSH: delete all existing libraries.",
      "    * APPEND: appends the restored libraries to the existing libraries. On collision, "
      "abort.",
      "    * REPLACE: appends the restored libraries to the existing libraries, On collision, "
      "replace the old",
      "      libraries with the new libraries (notice that even on this option there is a chance "
      "of "
      "failure",
      "      in case of functions name collision with another library).",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kFunctionCommands[] = {
    {.name = "fcall",
     .function = fcall_command,
     .arity = -3,
     .flags = kRunsScript | kPausedWithWrites,
     .asks_for_memory = function_asks_for_memory,
     .never_writes = function_never_writes,
     .syntax = "function numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Calls a function.",
     .since = "7.0.0",
     .complexity = "Depends on the function."},
    {.name = "fcall_ro",
     .function = fcall_ro_command,
     .arity = -3,
     .flags = kReadOnly | kRunsScript,
     .asks_for_memory = function_asks_for_memory,
     .syntax = "function numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Calls a function that is declared to write nothing.",
     .since = "7.0.0",
     .complexity = "Depends on the function."},
    {.name = "function",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages the libraries of functions.",
     .since = "7.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "function|load",
     .function = function_load_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kNoScript,
     .syntax = "[REPLACE] function-code",
     .summary = "Loads a library, which registers its functions. Returns its name.",
     .since = "7.0.0",
     .complexity = "O(N), N bytes of the library"},
    {.name = "function|list",
     .function = function_list_command,
     .arity = -2,
     .flags = kNoScript,
     .syntax = "[LIBRARYNAME library-name-pattern] [WITHCODE]",
     .summary = "Returns the libraries and their functions.",
     .since = "7.0.0",
     .complexity = "O(N), N functions"},
    {.name = "function|delete",
     .function = function_delete_command,
     .arity = 3,
     .flags = kWrite | kNoScript,
     .syntax = "library-name",
     .summary = "Removes a library with its functions.",
     .since = "7.0.0",
     .complexity = "O(N), N functions"},
    {.name = "function|flush",
     .function = function_flush_command,
     .arity = -2,
     .flags = kWrite | kNoScript,
     .syntax = "[ASYNC | SYNC]",
     .summary = "Removes all libraries.",
     .since = "7.0.0",
     .complexity = "O(N), N functions"},
    {.name = "function|dump",
     .function = function_dump_command,
     .arity = 2,
     .flags = kNoScript,
     .summary = "Returns all libraries as bytes for FUNCTION RESTORE.",
     .since = "7.0.0",
     .complexity = "O(N), N bytes of the libraries"},
    {.name = "function|restore",
     .function = function_restore_command,
     .arity = -3,
     .flags = kWrite | kDenyOom | kNoScript,
     .syntax = "serialized-value [FLUSH | APPEND | REPLACE]",
     .summary = "Loads the libraries of a FUNCTION DUMP.",
     .since = "7.0.0",
     .complexity = "O(N), N bytes of the libraries"},
    {.name = "function|stats",
     .function = function_stats_command,
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .summary = "Returns the running function, and counts of libraries and functions.",
     .since = "7.0.0",
     .complexity = "O(N), N libraries"},
    {.name = "function|kill",
     .function = function_kill_command,
     .arity = 2,
     .flags = kNoScript | kAllowBusy,
     .summary = "Ends the running function, if it has written nothing.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    help_record("function|help", function_help_command, "7.0.0"),
};

}  // namespace

CommandFamily function_commands() { return {CommandGroup::kScripting, kFunctionCommands}; }

}  // namespace rushgate
