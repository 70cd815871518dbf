#include "engine/redis/commands/memory_limit.h"

namespace rushgate {

bool asks_for_memory(const ScriptFlags& flags) {
  return flags.declared && !flags.allow_oom && !flags.no_writes;
}

bool asks_for_memory(const CommandContext& context, const CommandSpec& spec) {
  if ((spec.flags & kDenyOom) != 0) return true;
  return spec.asks_for_memory != nullptr && spec.asks_for_memory(context);
}

bool lacks_memory(const CommandContext& context, const CommandSpec& spec) {
  const CommandServices& services = context.services();
  if (!services.refuses_growth || services.running_script != nullptr)
    return false;  // BUSY says more
  if (asks_for_memory(context, spec)) return true;
  return context.session().transaction && (spec.flags & kEndsMulti) == 0;
}

}  // namespace rushgate
