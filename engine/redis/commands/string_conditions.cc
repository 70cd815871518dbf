// Commands for optimistic concurrency: a value or its digest decides whether a key is removed.
// https://redis.io/docs/latest/commands/delex/ https://redis.io/docs/latest/commands/digest/
#include <optional>
#include <utility>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/value_condition.h"

namespace rushgate {
namespace {

/// Sets `holds` to whether the object fulfils DELEX's condition. Returns an error of the request.
std::optional<Reply> check_delex(const CommandContext& context, Object& object, bool& holds) {
  if (object.type() != ValueType::kString) return errors::condition_needs_string();
  std::optional<ValueCondition> condition = parse_condition(context[2]);
  if (!condition) return errors::invalid_condition();
  condition->operand = context[3];
  return check_condition(*condition, object.string(), holds);
}

Reply delex_command(CommandContext& context) {
  constexpr std::size_t kWithCondition = 4;
  const bool has_condition = context.size() > 2;
  if (has_condition && context.size() != kWithCondition) return errors::wrong_arity("delex");
  Object* const object = context.db().find(context[1]);
  if (object == nullptr) return Reply::integer(0);
  bool holds = true;
  if (has_condition) {
    if (auto error = check_delex(context, *object, holds)) return std::move(*error);
  }
  if (!holds) return Reply::integer(0);
  context.db().remove(*object);
  context.notify(kGenericEvents, "del", context[1]);
  return Reply::integer(1);
}

Reply digest_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return object == nullptr ? Reply::nil() : Reply::bulk(digest_of(object->string()));
}

// ---- The records ----

unsigned delex_key_flags(RequestView request) {
  return request.size() > 2 ? key_specs::kRW | key_specs::kAccess | key_specs::kDelete
                            : key_specs::kRM | key_specs::kDelete;
}

constexpr CommandSpec kStringConditionCommands[] = {
    {.name = "delex",
     .function = delex_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .key_flags = delex_key_flags,
     .syntax = "key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]",
     .summary = "Removes a key; a condition on a string's value is optional.",
     .since = "8.4.0",
     .complexity = "O(1), with a digest O(N), N bytes of the string"},
    {.name = "digest",
     .function = digest_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns a string's XXH3 hash, in hexadecimal digits.",
     .since = "8.4.0",
     .complexity = "O(N), N bytes of the string"},
};

}  // namespace

CommandFamily string_condition_commands() {
  return {CommandGroup::kString, kStringConditionCommands};
}

}  // namespace rushgate
