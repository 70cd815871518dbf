// Expiry of keys: https://redis.io/docs/latest/commands/?group=generic
#include <cstdint>
#include <limits>
#include <string_view>

#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_families.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

constexpr std::int64_t kMs = 1;
constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kEpoch = 0;

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

/// Returns the time `amount` units after `start_ms`, which may be in the past; an error if ms
/// overflow.
std::int64_t expiry_after(Arguments& arguments, std::string_view command, std::int64_t amount,
                          std::int64_t unit_ms, std::int64_t start_ms) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (amount < kMin / unit_ms || amount > kMax / unit_ms || amount * unit_ms > kMax - start_ms) {
    arguments.fail(errors::invalid_expire_time(command));
    return 0;
  }
  return amount * unit_ms + start_ms;
}

bool allow(const ExpiryConditions& conditions, std::int64_t current_ms, std::int64_t wanted_ms) {
  const bool expires = current_ms != kNoExpiry;
  if (conditions.none && expires) return false;
  if (conditions.some && !expires) return false;
  if (conditions.later && (!expires || wanted_ms <= current_ms)) return false;
  return !(conditions.earlier && expires && wanted_ms >= current_ms);
}

/// Runs EXPIRE and similar commands, which count from `start_ms`.
Reply expire(CommandContext& context, std::string_view command, std::int64_t unit_ms,
             std::int64_t start_ms) {
  Arguments options(context.request(), 3);
  const ExpiryConditions conditions = read_conditions(options);
  const std::int64_t amount = options.to_integer(context[2]);
  const std::int64_t expire_at_ms = expiry_after(options, command, amount, unit_ms, start_ms);
  if (!options.ok()) return options.take_error();

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

/// Returns the key's expiry, in units from `start_ms`.
Reply expiry_reply(CommandContext& context, std::int64_t unit_ms, std::int64_t start_ms) {
  constexpr std::int64_t kNoKey = -2;
  constexpr std::int64_t kForEver = -1;
  const Object* object = context.db().find(context[1]);
  if (object == nullptr) return Reply::integer(kNoKey);
  if (object->expire_at_ms() == kNoExpiry) return Reply::integer(kForEver);
  // Unsigned, because rounding may exceed the signed range.
  const auto left_ms = static_cast<std::uint64_t>(object->expire_at_ms() - start_ms);
  const auto unit = static_cast<std::uint64_t>(unit_ms);
  return Reply::integer(static_cast<std::int64_t>((left_ms + unit / 2) / unit));
}

Reply expire_command(CommandContext& context) {
  return expire(context, "expire", kSecond, context.now_ms());
}

Reply pexpire_command(CommandContext& context) {
  return expire(context, "pexpire", kMs, context.now_ms());
}

Reply expireat_command(CommandContext& context) {
  return expire(context, "expireat", kSecond, kEpoch);
}

Reply pexpireat_command(CommandContext& context) {
  return expire(context, "pexpireat", kMs, kEpoch);
}

Reply ttl_command(CommandContext& context) {
  return expiry_reply(context, kSecond, context.now_ms());
}

Reply pttl_command(CommandContext& context) { return expiry_reply(context, kMs, context.now_ms()); }

Reply expiretime_command(CommandContext& context) { return expiry_reply(context, kSecond, kEpoch); }

Reply pexpiretime_command(CommandContext& context) { return expiry_reply(context, kMs, kEpoch); }

Reply persist_command(CommandContext& context) {
  Object* object = context.db().find(context[1]);
  if (object == nullptr || object->expire_at_ms() == kNoExpiry) return Reply::integer(0);
  context.db().set_expiry(*object, kNoExpiry);
  context.notify(kGenericEvents, "persist", context[1]);
  return Reply::integer(1);
}

// ---- The records ----

using namespace key_specs;

constexpr CommandSpec kCommands[] = {
    {.name = "expire",
     .function = expire_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = key(1, kRW | kUpdate),
     .syntax = "key seconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in seconds from now.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "pexpire",
     .function = pexpire_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = key(1, kRW | kUpdate),
     .syntax = "key milliseconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in milliseconds from now.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "expireat",
     .function = expireat_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = key(1, kRW | kUpdate),
     .syntax = "key unix-time-seconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in seconds since 1970.",
     .since = "1.2.0",
     .complexity = "O(1)"},
    {.name = "pexpireat",
     .function = pexpireat_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = key(1, kRW | kUpdate),
     .syntax = "key unix-time-milliseconds [NX | XX | GT | LT]",
     .summary = "Sets the expiry of a key, in milliseconds since 1970.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "expiretime",
     .function = expiretime_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = key(1, kReads),
     .syntax = "key",
     .summary = "Returns the expiry of a key, in seconds since 1970.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "pexpiretime",
     .function = pexpiretime_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = key(1, kReads),
     .syntax = "key",
     .summary = "Returns the expiry of a key, in milliseconds since 1970.",
     .since = "7.0.0",
     .complexity = "O(1)"},
    {.name = "ttl",
     .function = ttl_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = key(1, kReads),
     .syntax = "key",
     .summary = "Returns the seconds until a key expires.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "pttl",
     .function = pttl_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = key(1, kReads),
     .syntax = "key",
     .summary = "Returns the milliseconds until a key expires.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "persist",
     .function = persist_command,
     .arity = 2,
     .flags = kWrite | kFast,
     .keys = key(1, kRW | kUpdate),
     .syntax = "key",
     .summary = "Removes the expiry of a key.",
     .since = "2.2.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily expiry_commands() { return {CommandGroup::kGeneric, kCommands}; }

}  // namespace rushgate
