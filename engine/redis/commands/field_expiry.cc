// Expiry of the fields of a hash: https://redis.io/docs/latest/commands/hexpire/
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/expiry_arguments.h"
#include "engine/redis/commands/field_errors.h"
#include "engine/redis/commands/hash_fields.h"
#include "engine/redis/keyspace/hashes.h"

namespace rushgate {
namespace {

// Replies for a field.
constexpr std::int64_t kNoField = -2;
constexpr std::int64_t kForEver = -1;
constexpr std::int64_t kRefused = 0;
constexpr std::int64_t kDone = 1;
constexpr std::int64_t kFieldRemoved = 2;

/// Returns an array of the results of visit(std::string_view field) for the arguments left.
template <class Visit>
Reply for_each_field(Arguments& arguments, Visit visit) {
  std::vector<Reply> results;
  results.reserve(arguments.left());
  while (!arguments.at_end()) results.push_back(Reply::integer(visit(arguments.next())));
  return Reply::array(std::move(results));
}

// ---- HEXPIRE and its like ----

/// Conditions for replacing an expiry. LT regards no expiry as the latest; GT refuses it.
enum class Condition : std::uint8_t { kNone, kNoExpiry, kExpiry, kLater, kEarlier };

Condition read_condition(Arguments& arguments) {
  if (arguments.accept("NX")) return Condition::kNoExpiry;
  if (arguments.accept("XX")) return Condition::kExpiry;
  if (arguments.accept("GT")) return Condition::kLater;
  if (arguments.accept("LT")) return Condition::kEarlier;
  return Condition::kNone;
}

bool allow(Condition condition, std::optional<std::int64_t> current_ms, std::int64_t wanted_ms) {
  switch (condition) {
    case Condition::kNone:
      return true;
    case Condition::kNoExpiry:
      return !current_ms;
    case Condition::kExpiry:
      return current_ms.has_value();
    case Condition::kLater:
      return current_ms && wanted_ms > *current_ms;
    case Condition::kEarlier:
      return !current_ms || wanted_ms < *current_ms;
  }
  return false;
}

/// Runs HEXPIRE and similar commands, which count on `scale`.
Reply expire_fields(CommandContext& context, std::string_view command, const ExpiryScale& scale) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  Arguments arguments(context.request(), 2);
  const std::int64_t expire_at_ms = next_field_expiry(arguments, command, scale, context.now_ms());
  const Condition condition = read_condition(arguments);
  expect_fields(arguments, errors::number_of_fields_below_one());
  if (!arguments.ok()) return arguments.take_error();

  bool has_set = false;
  bool has_removed = false;
  Reply reply = for_each_field(arguments, [&](std::string_view field) {
    if (hash == nullptr || !hash->hash().contains(field)) return kNoField;
    if (!allow(condition, hash->hash().expiry(field), expire_at_ms)) return kRefused;
    if (expire_at_ms <= context.now_ms()) {
      has_removed = remove_field(context, hash, field);
      return kFieldRemoved;
    }
    hashes::set_expiry(context.db(), *hash, field, expire_at_ms);
    has_set = true;
    return kDone;
  });
  if (has_set || has_removed)
    context.notify(kHashEvents, has_removed ? "hdel" : "hexpire", context[1]);
  if (has_removed) context.notify_if_removed(context[1]);
  return reply;
}

Reply hexpire_command(CommandContext& context) {
  return expire_fields(context, "hexpire", kSecondsFromNow);
}

Reply hpexpire_command(CommandContext& context) {
  return expire_fields(context, "hpexpire", kMsFromNow);
}

Reply hexpireat_command(CommandContext& context) {
  return expire_fields(context, "hexpireat", kUnixSeconds);
}

Reply hpexpireat_command(CommandContext& context) {
  return expire_fields(context, "hpexpireat", kUnixMs);
}

// ---- HTTL and its like ----

/// Returns the expiries of the fields on `scale`, rounded up.
Reply expiries_reply(CommandContext& context, const ExpiryScale& scale) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  Arguments arguments(context.request(), 2);
  expect_fields(arguments, errors::number_of_fields_not_positive());
  if (!arguments.ok()) return arguments.take_error();
  const std::int64_t start_ms = scale.start_ms(context.now_ms());
  return for_each_field(arguments, [&](std::string_view field) {
    if (hash == nullptr || !hash->hash().contains(field)) return kNoField;
    const std::optional<std::int64_t> expire_at_ms = hash->hash().expiry(field);
    return expire_at_ms ? (*expire_at_ms - start_ms + scale.unit_ms - 1) / scale.unit_ms : kForEver;
  });
}

Reply httl_command(CommandContext& context) { return expiries_reply(context, kSecondsFromNow); }

Reply hpttl_command(CommandContext& context) { return expiries_reply(context, kMsFromNow); }

Reply hexpiretime_command(CommandContext& context) { return expiries_reply(context, kUnixSeconds); }

Reply hpexpiretime_command(CommandContext& context) { return expiries_reply(context, kUnixMs); }

Reply hpersist_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  Arguments arguments(context.request(), 2);
  expect_fields(arguments, errors::number_of_fields_not_positive());
  if (!arguments.ok()) return arguments.take_error();
  bool has_persisted = false;
  Reply reply = for_each_field(arguments, [&](std::string_view field) {
    if (hash == nullptr || !hash->hash().contains(field)) return kNoField;
    if (!hash->hash().expiry(field)) return kForEver;
    hashes::set_expiry(context.db(), *hash, field, std::nullopt);
    has_persisted = true;
    return kDone;
  });
  if (has_persisted) context.notify(kHashEvents, "hpersist", context[1]);
  return reply;
}

// ---- The records ----

constexpr CommandSpec kFieldExpiryCommands[] = {
    {.name = "hexpire",
     .function = hexpire_command,
     .arity = -6,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     .summary = "Sets the expiry of fields, in seconds from now.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hpexpire",
     .function = hpexpire_command,
     .arity = -6,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     .summary = "Sets the expiry of fields, in milliseconds from now.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hexpireat",
     .function = hexpireat_command,
     .arity = -6,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     .summary = "Sets the expiry of fields, in seconds since 1970.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hpexpireat",
     .function = hpexpireat_command,
     .arity = -6,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
     .summary = "Sets the expiry of fields, in milliseconds since 1970.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "httl",
     .function = httl_command,
     .arity = -5,
     .flags = kReadOnly | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Returns the seconds until fields expire.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hpttl",
     .function = hpttl_command,
     .arity = -5,
     .flags = kReadOnly | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Returns the milliseconds until fields expire.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hexpiretime",
     .function = hexpiretime_command,
     .arity = -5,
     .flags = kReadOnly | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Returns the expiry of fields, in seconds since 1970.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hpexpiretime",
     .function = hpexpiretime_command,
     .arity = -5,
     .flags = kReadOnly | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Returns the expiry of fields, in milliseconds since 1970.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
    {.name = "hpersist",
     .function = hpersist_command,
     .arity = -5,
     .flags = kWrite | kFast,
     .syntax = "key FIELDS numfields field [field ...]",
     .summary = "Removes the expiry of fields.",
     .since = "7.4.0",
     .complexity = "O(N), N fields"},
};

}  // namespace

CommandFamily field_expiry_commands() { return {CommandGroup::kHash, kFieldExpiryCommands}; }

}  // namespace rushgate
