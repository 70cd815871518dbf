// DUMP, RESTORE and RESTORE-ASKING: https://redis.io/docs/latest/commands/dump/
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/dump_errors.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/field_errors.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/rdb/dump_value.h"
#include "engine/redis/rdb/parsed_value.h"
#include "engine/redis/rdb/payload.h"
#include "engine/redis/rdb/restore_value.h"

namespace rushgate {
namespace {

Reply dump_command(CommandContext& context) {
  const Object* const object = context.db().find(context[1]);
  if (object == nullptr) return Reply::nil();
  if (object->type() == ValueType::kHash && object->hash().has_expiries())
    return errors::expiring_fields_in_dump();
  absl::StatusOr<std::string> payload =
      rdb::dump(*object, context.keyspace().limits(), context.session().reply_bytes_max);
  if (payload.ok()) return Reply::bulk(*std::move(payload));
  if (absl::IsResourceExhausted(payload.status())) return errors::reply_too_large();
  return errors::store_failed(payload.status());
}

// ---- RESTORE ----

struct RestoreOptions {
  bool replace = false;
  bool is_absolute = false;  // the expiry is a time, not a duration
  std::int64_t idle_s = 0;
};

/// Reads an integer. Latches `error` unless it is in [0, max].
std::int64_t next_up_to(Arguments& arguments, std::int64_t max, Reply error) {
  const std::int64_t value = arguments.next_integer();
  if (value < 0 || value > max) arguments.fail(std::move(error));
  return value;
}

/// FREQ has no effect, as in Redis without eviction by frequency.
RestoreOptions read_options(Arguments& arguments) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFrequencyMax = 255;
  RestoreOptions options;
  bool has_idle_time = false;
  bool has_frequency = false;
  while (!arguments.at_end()) {
    if (arguments.accept("REPLACE")) {
      options.replace = true;
    } else if (arguments.accept("ABSTTL")) {
      options.is_absolute = true;
    } else if (arguments.left() > 1 && !has_frequency && arguments.accept("IDLETIME")) {
      has_idle_time = true;
      options.idle_s = next_up_to(arguments, kAny, errors::invalid_idle_time());
    } else if (arguments.left() > 1 && !has_idle_time && arguments.accept("FREQ")) {
      has_frequency = true;
      next_up_to(arguments, kFrequencyMax, errors::invalid_frequency());
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return options;
}

/// Returns the time of the expiry. A duration that exceeds all times has passed, as in Redis.
std::int64_t expiry_of(const RestoreOptions& options, std::int64_t ttl_ms, std::int64_t now_ms) {
  if (ttl_ms == 0) return kNoExpiry;
  return options.is_absolute ? ttl_ms : checked_add(now_ms, ttl_ms).value_or(0);
}

/// Creates the value in place of `replaced`, which may be null. Publishes "restore".
Reply create(CommandContext& context, Object* replaced, const rdb::ParsedValue& value,
             std::int64_t expire_at_ms, std::int64_t idle_s) {
  const Changes::Savepoint before = context.keyspace().changes().savepoint();
  if (replaced != nullptr) context.db().remove(*replaced);
  const absl::Status restored = rdb::restore(context.db(), context[1], value);
  if (!restored.ok()) {
    context.keyspace().changes().roll_back_to(before);
    return errors::store_failed(restored);
  }
  Object& object = *context.db().peek(context[1]);
  if (expire_at_ms != kNoExpiry) context.db().set_expiry(object, expire_at_ms);
  context.keyspace().set_last_use(object, idle_s);
  context.notify(kGenericEvents, "restore", context[1]);
  return Reply::ok();
}

Reply restore_command(CommandContext& context) {
  Arguments arguments(context.request(), 4);
  const RestoreOptions options = read_options(arguments);
  if (!arguments.ok()) return arguments.take_error();
  Object* const replaced = context.db().find(context[1]);
  if (replaced != nullptr && !options.replace) return errors::key_exists();
  const std::int64_t ttl_ms = arguments.to_integer(context[2]);
  if (!arguments.ok()) return arguments.take_error();
  if (ttl_ms < 0) return errors::invalid_ttl();
  const bool skips_checksum = context.services().settings.skips_checksums;
  const std::optional<std::string_view> bytes =
      rdb::unseal(context[3], skips_checksum ? rdb::Checksum::kIgnored : rdb::Checksum::kChecked);
  if (!bytes) return errors::wrong_payload();
  const std::optional<rdb::ParsedValue> value = rdb::parse_value(*bytes);
  if (!value) return errors::bad_data_format();

  const std::int64_t expire_at_ms = expiry_of(options, ttl_ms, context.now_ms());
  if (expire_at_ms == kNoExpiry || expire_at_ms > context.now_ms()) {
    return create(context, replaced, *value, expire_at_ms, options.idle_s);
  }
  if (replaced != nullptr) {
    context.db().remove(*replaced);
    context.notify(kGenericEvents, "del", context[1]);
  }
  return Reply::ok();
}

// ---- The records ----

constexpr std::string_view kRestoreSyntax =
    "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]";
constexpr std::string_view kRestoreComplexity =
    "O(N), N bytes of the value; O(N*log(N)) for a sorted set";

constexpr CommandSpec kDumpCommands[] = {
    {.name = "dump",
     .function = dump_command,
     .arity = 2,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns a value in the format of Redis's snapshots, for RESTORE.",
     .since = "2.6.0",
     .complexity = "O(N), N bytes of the value"},
    {.name = "restore",
     .function = restore_command,
     .arity = -4,
     .flags = kWrite | kDenyOom | kAclDangerous,
     .syntax = kRestoreSyntax,
     .summary = "Creates a value from the output of DUMP.",
     .since = "2.6.0",
     .complexity = kRestoreComplexity},
};

constexpr CommandSpec kClusterDumpCommands[] = {
    {.name = "restore-asking",
     .function = restore_command,
     .arity = -4,
     .flags = kWrite | kDenyOom | kAsking | kAclKeyspace | kAclDangerous | kSystemCommand,
     .syntax = kRestoreSyntax,
     .summary = "As RESTORE, for moving keys in a cluster.",
     .since = "3.0.0",
     .complexity = kRestoreComplexity},
};

}  // namespace

CommandFamily dump_commands() { return {CommandGroup::kGeneric, kDumpCommands}; }
CommandFamily cluster_dump_commands() { return {CommandGroup::kServer, kClusterDumpCommands}; }

}  // namespace rushgate
