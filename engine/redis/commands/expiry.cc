// Expiry of keys: https://redis.io/docs/latest/commands/?group=generic
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/expiry_arguments.h"

namespace rushgate {
namespace {

// ---- EXPIRE and its like ----

/// Conditions for replacing an expiry.
struct ExpiryConditions {
  bool none = false;     // NX: only without an expiry
  bool some = false;     // XX: only with an expiry
  bool later = false;    // GT: only to a later time; no expiry counts as the latest
  bool earlier = false;  // LT: only to an earlier time
};

ExpiryConditions read_conditions(Arguments& arguments) {
  ExpiryConditions conditions;
  while (!arguments.at_end()) {
    if (arguments.accept("NX")) {
      conditions.none = true;
    } else if (arguments.accept("XX")) {
      conditions.some = true;
    } else if (arguments.accept("GT")) {
      conditions.later = true;
    } else if (arguments.accept("LT")) {
      conditions.earlier = true;
    } else {
      arguments.fail(errors::unsupported_option(arguments.next()));
    }
  }
  if (conditions.none && (conditions.some || conditions.later || conditions.earlier)) {
    arguments.fail(errors::nx_excludes());
  }
  if (conditions.later && conditions.earlier) arguments.fail(errors::gt_excludes_lt());
  return conditions;
}

bool allow(const ExpiryConditions& conditions, std::int64_t current_ms, std::int64_t wanted_ms) {
  const bool expires = current_ms != kNoExpiry;
  if (conditions.none && expires) return false;
  if (conditions.some && !expires) return false;
  if (conditions.later && (!expires || wanted_ms <= current_ms)) return false;
  return !(conditions.earlier && expires && wanted_ms >= current_ms);
}

/// Runs EXPIRE and similar commands, which count on `scale`.
Reply expire(CommandContext& context, std::string_view command, const ExpiryScale& scale) {
  Arguments options(context.request(), 3);
  const ExpiryConditions conditions = read_conditions(options);
  const std::int64_t amount = options.to_integer(context[2]);
  const std::optional<std::int64_t> expiry = scale.time_ms(amount, context.now_ms());
  if (!expiry) options.fail(errors::invalid_expire_time(command));
  if (!options.ok()) return options.take_error();
  const std::int64_t expire_at_ms = *expiry;

  Object* object = context.db().find(context[1]);
  if (object == nullptr || !allow(conditions, object->expire_at_ms(), expire_at_ms))
    return Reply::integer(0);
  if (expire_at_ms <= context.now_ms()) {
    context.db().remove(*object);
    context.notify(kGenericEvents, "del", context[1]);
  } else {
    context.db().set_expiry(*object, expire_at_ms);
    context.notify(kGenericEvents, "expire", context[1]);
  }
  return Reply::integer(1);
}

// ---- TTL and its like ----

/// Returns the key's expiry on `scale`.
Reply expiry_reply(CommandContext& context, const ExpiryScale& scale) {
  constexpr std::int64_t kNoKey = -2;
  constexpr std::int64_t kForEver = -1;
  const Object* object = context.db().peek(context[1]);
  if (object == nullptr) return Reply::integer(kNoKey);
  if (object->expire_at_ms() == kNoExpiry) return Reply::integer(kForEver);
  // Unsigned, because rounding may exceed the signed range.
  const auto left_ms =
      static_cast<std::uint64_t>(object->expire_at_ms() - scale.start_ms(context.now_ms()));
  const auto unit = static_cast<std::uint64_t>(scale.unit_ms);
  return Reply::integer(static_cast<std::int64_t>((left_ms + unit / 2) / unit));
}

Reply expire_command(CommandContext& context) { return expire(context, "expire", kSecondsFromNow); }

Reply pexpire_command(CommandContext& context) { return expire(context, "pexpire", kMsFromNow); }

Reply expireat_command(CommandContext& context) {
  return expire(context, "expireat", kUnixSeconds);
}

Reply pexpireat_command(CommandContext& context) { return expire(context, "pexpireat", kUnixMs); }

Reply ttl_command(CommandContext& context) { return expiry_reply(context, kSecondsFromNow); }

Reply pttl_command(CommandContext& context) { return expiry_reply(context, kMsFromNow); }

Reply expiretime_command(CommandContext& context) { return expiry_reply(context, kUnixSeconds); }

Reply pexpiretime_command(CommandContext& context) { return expiry_reply(context, kUnixMs); }

Reply persist_command(CommandContext& context) {
  Object* object = context.db().find(context[1]);
  if (object == nullptr || object->expire_at_ms() == kNoExpiry) return Reply::integer(0);
  context.db().set_expiry(*object, kNoExpiry);
  context.notify(kGenericEvents, "persist", context[1]);
  return Reply::integer(1);
}

// ---- The records ----

constexpr CommandSpec kExpiryCommands[] = {
    {.name = "expire",
     .function = expire_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key seconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in seconds from now.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "pexpire",
     .function = pexpire_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key milliseconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in milliseconds from now.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "expireat",
     .function = expireat_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key unix-time-seconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in seconds since 1970.",
     .since = "1.2.0",
     .complexity = "O(1)"},
    {.name = "pexpireat",
     .function = pexpireat_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key unix-time-milliseconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in milliseconds since 1970.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "expiretime",
     .function = expiretime_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the expiry of a key, in seconds since 1970.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "pexpiretime",
     .function = pexpiretime_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the expiry of a key, in milliseconds since 1970.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "ttl",
     .function = ttl_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the seconds until a key expires.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "pttl",
     .function = pttl_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns the milliseconds until a key expires.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "persist",
     .function = persist_command,
     .arity = 2,
     .flags = kWrite | kFast,
     .syntax = "key",
     .summary = "Removes the expiry of a key.",
     .since = "2.2.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily expiry_commands() { return {CommandGroup::kGeneric, kExpiryCommands}; }

}  // namespace rushgate
