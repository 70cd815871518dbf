#include "engine/redis/commands/script_calls.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/commands/memory_limit.h"
#include "engine/redis/commands/program_command_table.h"
#include "engine/redis/script/function_library.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/script_errors.h"

namespace rushgate {

// ---- The running script ----

Reply kill_running_script(const CommandServices& services, std::optional<ScriptKind> kind) {
  RunningScript* const running = services.running_script;
  if (running == nullptr) return script_errors::not_busy();
  const bool has_written = services.keyspace.changes().changed_since(running->began);
  if (has_written && !services.roll_back_failed_scripts) return script_errors::unkillable();
  if (kind && (*kind == ScriptKind::kFunction) != running->is_function())
    return script_errors::busy(running->is_function());
  running->kill = true;
  return Reply::ok();
}

namespace {

/// Registers the running script during its lifetime.
class Running {
 public:
  Running(CommandContext& context, const LuaScript& script)
      : services_(context.services()),
        script_{script.sha1, context.keyspace().changes().savepoint()} {
    services_.running_script = &script_;
  }
  Running(CommandContext& context, const LuaFunction& function)
      : services_(context.services()),
        script_{.name = function.name,
                .began = context.keyspace().changes().savepoint(),
                .function_call = context.request(),
                .function_began = std::chrono::steady_clock::now()} {
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

/// Runs a LuaScript or a LuaFunction.
template <class Code>
Reply run_code(CommandContext& context, const Code& code, const ScriptParameters& parameters,
               bool read_only) {
  if (read_only && code.flags.declared && !code.flags.no_writes) {
    return script_errors::write_script_called_read_only();
  }
  CommandServices& services = context.services();
  if (!services.write_refusal.empty() && code.flags.declared && !code.flags.no_writes)
    return Reply::error(services.write_refusal);
  if (services.refuses_growth && asks_for_memory(code.flags)) {
    return script_errors::asks_for_memory();
  }
  ScriptCaller caller(context, read_only || code.flags.no_writes);
  const Running running(context, code);
  const GrowthRule growth(services, code.flags.allow_oom);
  LuaResult result = services.lua.run(code, parameters.call(context, caller));
  note_errors(context, result);
  if (result.killed || (result.failed && services.roll_back_failed_scripts)) {
    context.keyspace().changes().roll_back_to((*running).began);
  }
  return std::move(result.reply);
}

}  // namespace

// ---- Calling a script ----

ScriptParameters::ScriptParameters(RequestView request, MakeError not_a_number)
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

Reply ScriptCaller::call(RequestView request) {
  CommandContext context(services_, session(), request, CommandContext::Origin::kScript,
                         read_only_);
  Reply reply = run_command(context);
  if (reply.is_error()) last_error_ = reply.text();
  return reply;
}

bool ScriptCaller::knows(RequestView request) const {
  return find_command(services_, request) != nullptr;
}

Session& ScriptCaller::session() {
  if (!session_) {
    session_.emplace();
    session_->id = client_.id;
    session_->db = client_.db;
    session_->client = &client_;
  }
  return *session_;
}

Reply run_lua(CommandContext& context, const LuaScript& script, const ScriptParameters& parameters,
              bool read_only) {
  return run_code(context, script, parameters, read_only);
}

Reply run_lua(CommandContext& context, const LuaFunction& function,
              const ScriptParameters& parameters, bool read_only) {
  return run_code(context, function, parameters, read_only);
}

}  // namespace rushgate
