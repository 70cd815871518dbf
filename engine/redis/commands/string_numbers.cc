// Commands on numbers in strings: https://redis.io/docs/latest/commands/?group=string
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

Reply increment(CommandContext& context, std::int64_t amount) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) {
    context.db().create(context[1], StringValue(amount));
    context.notify(kStringEvents, "incrby", context[1]);
    return Reply::integer(amount);
  }
  const auto current = object->string().integer();
  if (!current) return errors::not_an_integer();
  const auto sum = checked_add(*current, amount);
  if (!sum) return errors::overflow();
  strings::assign(context.db(), *object, StringValue(*sum));
  context.notify(kStringEvents, "incrby", context[1]);
  return Reply::integer(*sum);
}

Reply incr_command(CommandContext& context) { return increment(context, 1); }

Reply incrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  return increment(context, *amount);
}

Reply decr_command(CommandContext& context) { return increment(context, -1); }

Reply decrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  if (*amount == std::numeric_limits<std::int64_t>::min()) return errors::decrement_overflow();
  return increment(context, -*amount);
}

Reply incrbyfloat_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  const auto current =
      object == nullptr ? std::optional(0.0L) : parse_long_double(object->string().bytes());
  const auto amount = parse_long_double(context[2]);
  if (!current || !amount) return errors::not_a_float();
  const long double sum = *current + *amount;
  if (!std::isfinite(sum)) return errors::not_finite();

  std::string text = format_long_double(sum);
  Reply reply = Reply::bulk(text);
  if (object == nullptr) {
    context.db().create(context[1], StringValue::as_text(text));
  } else {
    strings::assign(context.db(), *object, StringValue::as_text(text));
  }
  context.notify(kStringEvents, "incrbyfloat", context[1]);
  return reply;
}

// ---- The records ----

constexpr CommandSpec kStringNumberCommands[] = {
    {.name = "incrbyfloat",
     .function = incrbyfloat_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key increment",
     .summary = "Adds a floating-point number to a number.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "incr",
     .function = incr_command,
     .arity = 2,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key",
     .summary = "Adds one to an integer.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "incrby",
     .function = incrby_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key increment",
     .summary = "Adds to an integer.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "decr",
     .function = decr_command,
     .arity = 2,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key",
     .summary = "Subtracts one from an integer.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "decrby",
     .function = decrby_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key decrement",
     .summary = "Subtracts from an integer.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily string_number_commands() { return {CommandGroup::kString, kStringNumberCommands}; }

}  // namespace rushgate
