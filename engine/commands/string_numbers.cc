// Commands on numbers in strings: https://redis.io/docs/latest/commands/?group=string
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/numbers.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/keyspace/strings.h"

namespace rushgate {
namespace {

Reply increment(CommandContext& context, std::int64_t amount) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) {
    context.db().create(context[1], StringValue(amount));
    return Reply::integer(amount);
  }
  const auto current = object->string().integer();
  if (!current) return errors::not_an_integer();
  const auto sum = checked_add(*current, amount);
  if (!sum) return errors::overflow();
  strings::assign(context.db(), *object, StringValue(*sum));
  return Reply::integer(*sum);
}

}  // namespace

// INCR key
Reply incr_command(CommandContext& context) { return increment(context, 1); }

// INCRBY key increment
Reply incrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  return increment(context, *amount);
}

// DECR key
Reply decr_command(CommandContext& context) { return increment(context, -1); }

// DECRBY key decrement
Reply decrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[2]);
  if (!amount) return errors::not_an_integer();
  if (*amount == std::numeric_limits<std::int64_t>::min()) return errors::decrement_overflow();
  return increment(context, -*amount);
}

// INCRBYFLOAT key increment
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
    context.db().create(context[1], StringValue::as_text(std::move(text)));
  } else {
    strings::assign(context.db(), *object, StringValue::as_text(std::move(text)));
  }
  return reply;
}

}  // namespace rushgate
