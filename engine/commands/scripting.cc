// EVAL and its variants, FCALL, SCRIPT.
#include "engine/commands/scripting.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_families.h"
#include "engine/commands/command_table.h"
#include "engine/commands/dispatch.h"
#include "engine/commands/errors.h"
#include "engine/commands/help_reply.h"
#include "engine/commands/memory_limit.h"
#include "engine/commands/tracking_table.h"
#include "engine/script/lua_host.h"
#include "engine/script/native_host.h"
#include "engine/script/script_errors.h"
#include "engine/script/shebang.h"

namespace rushgate {

Reply kill_running_script(const CommandServices& services) {
  if (services.running_script == nullptr) return script_errors::not_busy();
  const bool has_written =
      services.keyspace.changes().changed_since(services.running_script->began);
  if (has_written && !services.roll_back_failed_scripts) return script_errors::unkillable();
  services.running_script->kill = true;
  return Reply::ok();
}

namespace {

// ---- Calling a script ----

/// Runs the commands of a script, on a session of its own: SELECT has no effect after the script.
class ScriptCaller final : public CommandCaller {
 public:
  ScriptCaller(CommandContext& context, bool read_only)
      : services_(context.services()), client_(context.session()), read_only_(read_only) {}

  Reply call(RequestView request) override {
    CommandContext context(services_, session(), request, CommandContext::Origin::kScript,
                           read_only_);
    Reply reply = run_command(context);
    if (reply.is_error()) last_error_ = reply.text();
    return reply;
  }

  [[nodiscard]] bool knows(RequestView request) const override {
    return find_command(request) != nullptr;
  }

  void set_protocol(int protocol) override { session().protocol = protocol; }

  [[nodiscard]] bool refuses_growth() const override { return services_.refuses_growth; }
  /// As after a command that writes: a script is not stopped half-way.
  void note_write() override { services_.refuses_growth = false; }

  /// Returns the message of the last error reply; empty if there was none.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  /// Made by the first command: a native script may need none.
  Session& session() {
    if (!session_) {
      session_.emplace();
      session_->id = client_.id;
      session_->db = client_.db;
      session_->client = &client_;
    }
    return *session_;
  }

  CommandServices& services_;
  Session& client_;
  std::optional<Session> session_;
  const bool read_only_;
  std::string last_error_;
};

/// Parses `COMMAND script numkeys [key …] [argument …]` from numkeys on.
class Parameters {
 public:
  using MakeError = Reply (*)();

  explicit Parameters(RequestView request, MakeError not_a_number = &errors::not_an_integer)
      : all_(request.subspan(kFirst)) {
    const std::optional<std::int64_t> keys = parse_int64(request[kFirst - 1]);
    if (!keys) {
      error_ = not_a_number();
    } else if (*keys > static_cast<std::int64_t>(all_.size())) {
      error_ = script_errors::too_many_keys();
    } else if (*keys < 0) {
      error_ = script_errors::negative_number_of_keys();
    } else {
      keys_ = static_cast<std::size_t>(*keys);
    }
  }

  /// Returns the error to reply, if any.
  [[nodiscard]] std::optional<Reply>& error() { return error_; }

  [[nodiscard]] ScriptCall call(CommandContext& context, CommandCaller& caller) const {
    return {all_.first(keys_), all_.subspan(keys_), context.now_ms(), caller};
  }

 private:
  static constexpr std::size_t kFirst = 3;

  const RequestView all_;
  std::size_t keys_ = 0;
  std::optional<Reply> error_;
};

/// Restores the refusal of growth after a script, which may change it.
class GrowthRule {
 public:
  GrowthRule(CommandServices& services, bool allows_growth)
      : services_(services), before_(services.refuses_growth) {
    if (allows_growth) services.refuses_growth = false;
  }
  ~GrowthRule() { services_.refuses_growth = before_; }
  GrowthRule(const GrowthRule&) = delete;
  GrowthRule& operator=(const GrowthRule&) = delete;

 private:
  CommandServices& services_;
  const bool before_;
};

/// Registers the running script during its lifetime.
class Running {
 public:
  Running(CommandContext& context, const LuaScript& script)
      : services_(context.services()),
        script_{script.sha1, context.keyspace().changes().savepoint()} {
    services_.running_script = &script_;
  }
  ~Running() { services_.running_script = nullptr; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] const RunningScript& operator*() const { return script_; }

 private:
  CommandServices& services_;
  RunningScript script_;
};

/// Counts errors as Redis does: each error reply of a command, and one for all other errors.
void note_errors(CommandContext& context, const LuaResult& result) {
  for (const std::string& text : result.new_errors) context.services().statistics.errors.note(text);
  context.set_failures(result.errors_passed_on + (result.new_errors.empty() ? 0 : 1));
}

Reply run_lua(CommandContext& context, const LuaScript& script, const Parameters& parameters,
              bool read_only) {
  if (read_only && script.flags.declared && !script.flags.no_writes) {
    return script_errors::write_script_called_read_only();
  }
  CommandServices& services = context.services();
  if (services.refuses_growth && asks_for_memory(script.flags)) {
    return script_errors::asks_for_memory();
  }
  ScriptCaller caller(context, read_only || script.flags.no_writes);
  const Running running(context, script);
  const GrowthRule growth(services, script.flags.allow_oom);
  LuaResult result = services.lua.run(script, parameters.call(context, caller));
  note_errors(context, result);
  if (result.killed || (result.failed && services.roll_back_failed_scripts)) {
    context.keyspace().changes().roll_back_to((*running).began);
  }
  return std::move(result.reply);
}

Reply eval(CommandContext& context, bool read_only) {
  Parameters parameters(context.request());
  if (parameters.error()) return *std::move(parameters.error());
  Reply error;
  const LuaScript* const script = context.services().lua.load(context[1], error);
  return script == nullptr ? error : run_lua(context, *script, parameters, read_only);
}

Reply evalsha(CommandContext& context, bool read_only) {
  constexpr std::size_t kSha1Size = 40;
  if (context[1].size() != kSha1Size) return script_errors::no_script();
  Parameters parameters(context.request());
  if (parameters.error()) return *std::move(parameters.error());
  const LuaScript* const script = context.services().lua.find(context[1]);
  if (script == nullptr) return script_errors::no_script();
  return run_lua(context, *script, parameters, read_only);
}

Reply eval_command(CommandContext& context) { return eval(context, false); }

Reply eval_ro_command(CommandContext& context) { return eval(context, true); }

Reply evalsha_command(CommandContext& context) { return evalsha(context, false); }

Reply evalsha_ro_command(CommandContext& context) { return evalsha(context, true); }

/// A C++ script does not report which of its keys it reads.
void remember_keys(const CommandContext& context, std::span<const std::string_view> keys) {
  Session& session = context.session();
  if (!session.tracking || !session.tracking->remembers_reads()) return;
  for (const std::string_view key : keys) context.services().tracking.remember(session, key);
}

Reply fcall_command(CommandContext& context) {
  CommandServices& services = context.services();
  const NativeHost::Entry* const native = services.natives.find(context[1]);
  if (native == nullptr) return script_errors::no_function();
  if (!services.write_refusal.empty()) return Reply::error(services.write_refusal);
  Parameters parameters(context.request(), &script_errors::bad_number_of_keys);
  if (parameters.error()) return *std::move(parameters.error());
  ScriptCaller caller(context, false);
  const GrowthRule growth(context.services(), false);
  const ScriptCall call = parameters.call(context, caller);
  Reply reply = NativeHost::run(*native, context.db(), call);
  remember_keys(context, call.keys);
  if (reply.is_error() && reply.text() == caller.last_error()) {
    context.set_failures(1);  // an error of a command: counted already
  }
  return reply;
}

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

//
// Runs in the middle of the script, called by the BusyMonitor.
Reply script_kill_command(CommandContext& context) {
  return kill_running_script(context.services());
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

using namespace key_specs;

constexpr unsigned kRunsScript = kNoScript | kStale | kSkipMonitor | kNoMandatoryKeys;

constexpr CommandSpec kCommands[] = {
    {.name = "eval",
     .function = eval_command,
     .arity = -3,
     .flags = kRunsScript | kPausedWithWrites,
     .keys = counted_keys(2, kChanges),
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
     .keys = counted_keys(2, kChanges),
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
     .keys = counted_keys(2, kReads),
     .asks_for_memory = text_asks_for_memory,
     .syntax = "script numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs a Lua script that may not write.",
     .since = "7.0.0",
     .complexity = "Depends on the script."},
    {.name = "evalsha_ro",
     .function = evalsha_ro_command,
     .arity = -3,
     .flags = kReadOnly | kRunsScript,
     .keys = counted_keys(2, kReads),
     .asks_for_memory = cached_script_asks_for_memory,
     .syntax = "sha1 numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Runs the Lua script with this SHA-1, which may not write.",
     .since = "7.0.0",
     .complexity = "Depends on the script."},
    {.name = "fcall",
     .function = fcall_command,
     .arity = -3,
     .flags = kRunsScript | kPausedWithWrites,
     .keys = counted_keys(2, kChanges),
     .syntax = "function numkeys [key [key ...]] [arg [arg ...]]",
     .summary = "Calls a function.",
     .since = "7.0.0",
     .complexity = "Depends on the function."},
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
     .connection = ConnectionUse::kUnsupported,
     .syntax = "<YES | SYNC | NO>",
     .summary = "Accepts NO alone: there is no debugger.",
     .since = "3.2.0",
     .complexity = "O(1)"},
    help_record("script|help", script_help_command, "5.0.0"),
};

}  // namespace

CommandFamily scripting_commands() { return {CommandGroup::kScripting, kCommands}; }

}  // namespace rushgate
