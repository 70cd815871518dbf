#include "engine/commands/memory_limit.h"

#include <optional>

#include "engine/commands/command_functions.h"
#include "engine/script/lua_host.h"
#include "engine/script/shebang.h"

namespace rushgate {
namespace {

bool is_eval(const CommandSpec& spec) {
  return spec.function == eval_command || spec.function == eval_ro_command;
}
bool is_evalsha(const CommandSpec& spec) {
  return spec.function == evalsha_command || spec.function == evalsha_ro_command;
}

}  // namespace

bool asks_for_memory(const ScriptFlags& flags) {
  return flags.declared && !flags.allow_oom && !flags.no_writes;
}

bool asks_for_memory(const CommandContext& context, const CommandSpec& spec) {
  if ((spec.flags & kDenyOom) != 0) return true;
  if (is_eval(spec)) {
    Reply error;
    const std::optional<Shebang> shebang = parse_shebang(context[1], error);
    return shebang && asks_for_memory(shebang->flags);
  }
  if (is_evalsha(spec)) {
    const LuaScript* const script = context.services().lua.find(context[1]);
    return script != nullptr && asks_for_memory(script->flags);
  }
  return false;
}

bool lacks_memory(const CommandContext& context, const CommandSpec& spec) {
  const CommandServices& services = context.services();
  if (!services.refuses_growth || services.running_script != nullptr)
    return false;  // BUSY says more
  if (asks_for_memory(context, spec)) return true;
  const Session& session = context.session();
  if (!session.transaction) return false;
  if (spec.function == exec_command) return session.transaction->asks_for_memory;
  return spec.function != discard_command && spec.function != reset_command &&
         spec.function != quit_command;
}

}  // namespace rushgate
