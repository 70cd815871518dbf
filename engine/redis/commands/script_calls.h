// Calls of scripts and functions: their arguments, the commands that they call, and their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/script/script_call.h"
#include <rushgate/reply.h>

namespace rushgate {

struct LuaFunction;
struct LuaScript;

// ---- The running script ----

enum class ScriptKind : std::uint8_t { kScript, kFunction };

/// Lets the script beyond its time limit end at its next check, as SCRIPT KILL and FUNCTION KILL
/// do. Returns an error if there is none, if it has written, or if it is not of this kind.
Reply kill_running_script(const CommandServices& services,
                          std::optional<ScriptKind> kind = std::nullopt);

// ---- Calling a script ----

/// Parses `COMMAND script numkeys [key …] [argument …]` from numkeys on. Valid as long as the
/// request.
class ScriptParameters {
 public:
  using MakeError = Reply (*)();

  ScriptParameters(RequestView request, MakeError not_a_number);

  /// Returns the error to reply, if any.
  [[nodiscard]] std::optional<Reply>& error() { return error_; }

  [[nodiscard]] ScriptCall call(const CommandContext& context, CommandCaller& caller) const {
    return {all_.first(keys_), all_.subspan(keys_), context.now_ms(), caller};
  }

 private:
  static constexpr std::size_t kFirst = 3;

  const RequestView all_;
  std::size_t keys_ = 0;
  std::optional<Reply> error_;
};

/// Runs the commands of a script, on a session of its own: SELECT has no effect after the script.
class ScriptCaller final : public CommandCaller {
 public:
  ScriptCaller(CommandContext& context, bool read_only)
      : services_(context.services()), client_(context.session()), read_only_(read_only) {}

  Reply call(RequestView request) override;
  [[nodiscard]] bool knows(RequestView request) const override;
  void set_protocol(int protocol) override { session().protocol = protocol; }
  [[nodiscard]] bool refuses_growth() const override { return services_.refuses_growth; }
  /// As after a command that writes: a script is not stopped half-way.
  void note_write() override { services_.refuses_growth = false; }

  /// Returns the message of the last error reply; empty if there was none.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  /// Made by the first command: a native script may need none.
  Session& session();

  CommandServices& services_;
  Session& client_;
  std::optional<Session> session_;
  const bool read_only_;
  std::string last_error_;
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

/// Run a script or a function in Lua. `read_only`: by EVAL_RO or a similar command.
Reply run_lua(CommandContext& context, const LuaScript& script, const ScriptParameters& parameters,
              bool read_only);
Reply run_lua(CommandContext& context, const LuaFunction& function,
              const ScriptParameters& parameters, bool read_only);

}  // namespace rushgate
