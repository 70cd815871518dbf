// EVAL and its variants, FCALL, SCRIPT.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/command_table.h"
#include "engine/commands/dispatch.h"
#include "engine/commands/errors.h"
#include "engine/commands/help_reply.h"
#include "engine/commands/memory_limit.h"
#include "engine/script/lua_host.h"
#include "engine/script/native_host.h"
#include "engine/script/script_errors.h"

namespace rushgate {
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
    }
    return *session_;
  }

  CommandServices& services_;
  const Session& client_;
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

}  // namespace

// EVAL script numkeys [key …] [argument …]
Reply eval_command(CommandContext& context) { return eval(context, false); }

// EVAL_RO script numkeys [key …] [argument …]
Reply eval_ro_command(CommandContext& context) { return eval(context, true); }

// EVALSHA sha1 numkeys [key …] [argument …]
Reply evalsha_command(CommandContext& context) { return evalsha(context, false); }

// EVALSHA_RO sha1 numkeys [key …] [argument …]
Reply evalsha_ro_command(CommandContext& context) { return evalsha(context, true); }

// FCALL function numkeys [key …] [argument …]
Reply fcall_command(CommandContext& context) {
  CommandServices& services = context.services();
  const NativeHost::Entry* const native = services.natives.find(context[1]);
  if (native == nullptr) return script_errors::no_function();
  if (!services.write_refusal.empty()) return Reply::error(services.write_refusal);
  Parameters parameters(context.request(), &script_errors::bad_number_of_keys);
  if (parameters.error()) return *std::move(parameters.error());
  ScriptCaller caller(context, false);
  const GrowthRule growth(context.services(), false);
  Reply reply = NativeHost::run(*native, context.db(), parameters.call(context, caller));
  if (reply.is_error() && reply.text() == caller.last_error()) {
    context.set_failures(1);  // an error of a command: counted already
  }
  return reply;
}

// ---- SCRIPT ----

// SCRIPT LOAD script
Reply script_load_command(CommandContext& context) {
  Reply error;
  const LuaScript* const script = context.services().lua.load(context[2], error);
  return script == nullptr ? error : Reply::bulk(script->sha1);
}

// SCRIPT EXISTS sha1 [sha1 …]
Reply script_exists_command(CommandContext& context) {
  Reply reply = Reply::array();
  for (std::size_t i = 2; i < context.size(); ++i) {
    reply.mutable_elements().push_back(
        Reply::integer(static_cast<std::int64_t>(context.services().lua.knows(context[i]))));
  }
  return reply;
}

// SCRIPT FLUSH [ASYNC | SYNC]
Reply script_flush_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  if (!arguments.accept("sync")) arguments.accept("async");  // both have the same effect here
  if (!arguments.at_end()) return script_errors::bad_flush_option();
  context.services().lua.flush();
  return Reply::ok();
}

// SCRIPT DEBUG YES | SYNC | NO
Reply script_debug_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  if (arguments.accept("no")) return Reply::ok();
  const bool asks_for_it = arguments.accept("yes") || arguments.accept("sync");
  return asks_for_it ? script_errors::no_debugger() : script_errors::bad_debug_option();
}

// SCRIPT KILL
//
// Runs in the middle of the script, called by the BusyMonitor.
Reply script_kill_command(CommandContext& context) {
  const CommandServices& services = context.services();
  if (services.running_script == nullptr) return script_errors::not_busy();
  const bool has_written =
      services.keyspace.changes().changed_since(services.running_script->began);
  if (has_written && !services.roll_back_failed_scripts) return script_errors::unkillable();
  services.running_script->kill = true;
  return Reply::ok();
}

// SCRIPT HELP
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

}  // namespace rushgate
