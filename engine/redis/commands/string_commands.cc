// Commands on strings: https://redis.io/docs/latest/commands/?group=string
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/expiry_arguments.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/commands/value_condition.h"
#include "engine/redis/keyspace/strings.h"

namespace rushgate {
namespace {

Reply value_reply(Object* object) {
  return object == nullptr ? Reply::nil() : Reply::bulk(object->string().bytes());
}

// ---- SET ----

struct SetOptions {
  bool only_if_absent = false;   // NX
  bool only_if_present = false;  // XX
  bool return_old = false;       // GET
  bool keep_expiry = false;      // KEEPTTL
  ExpiryArgument expiry;
  std::optional<ValueCondition> condition;
};

/// IFEQ value | IFNE value | IFDEQ digest | IFDNE digest. If repeated, the last one counts. Returns
/// false if the next argument is none of them.
bool accept_option(Arguments& arguments, std::optional<ValueCondition>& condition) {
  const std::optional<ValueCondition> accepted = accept_condition(arguments);
  if (!accepted) return false;
  const bool is_repeated = condition && condition->is_digest == accepted->is_digest &&
                           condition->wants_equal == accepted->wants_equal;
  if (condition && !is_repeated) arguments.fail(errors::syntax());
  condition = accepted;
  return true;
}

SetOptions read_set_options(Arguments& arguments) {
  SetOptions options;
  while (!arguments.at_end()) {
    if (arguments.accept("NX")) {
      options.only_if_absent = true;
    } else if (arguments.accept("XX")) {
      options.only_if_present = true;
    } else if (arguments.accept("GET")) {
      options.return_old = true;
    } else if (arguments.accept("KEEPTTL")) {
      options.keep_expiry = true;
    } else if (!accept_expiry(arguments, options.expiry) &&
               !accept_option(arguments, options.condition)) {
      arguments.fail(errors::syntax());
    }
  }
  const int conditions = static_cast<int>(options.only_if_absent) +
                         static_cast<int>(options.only_if_present) +
                         static_cast<int>(options.condition.has_value());
  const bool conditions_conflict = conditions > 1;
  const bool expiries_conflict = options.keep_expiry && options.expiry.scale != nullptr;
  if (conditions_conflict || expiries_conflict) arguments.fail(errors::syntax());
  return options;
}

/// Returns true if the options allow a key that is there, or is missing. The value is not checked.
bool allow_presence(const SetOptions& options, bool is_there) {
  const bool needs_value = options.condition && options.condition->wants_equal;
  return is_there ? !options.only_if_absent : !options.only_if_present && !needs_value;
}

/// Sets `may_set` to whether the options allow SET to replace `object`. Returns an error of a
/// condition on its value.
std::optional<Reply> check_options(const SetOptions& options, Object* object, bool& may_set) {
  may_set = allow_presence(options, object != nullptr);
  if (object == nullptr || !options.condition) return std::nullopt;
  if (object->type() != ValueType::kString) return errors::wrong_type();
  return check_condition(*options.condition, object->string(), may_set);
}

/// Publishes that a string was set, and whether it got an expiry.
void notify_set(const CommandContext& context, std::string_view key, bool expires) {
  context.notify(kStringEvents, "set", key);
  if (expires) context.notify(kGenericEvents, "expire", key);
}

/// Sets a string after SET's options were checked. `object` is the one at `key`, or null.
void set_value(CommandContext& context, const SetOptions& options, std::int64_t expire_at_ms,
               Object* object, std::string_view key, std::string_view value) {
  if (options.keep_expiry && object != nullptr) expire_at_ms = object->expire_at_ms();
  strings::set_until(context.db(), object, key, StringValue(value), expire_at_ms);
  notify_set(context, key, options.expiry.scale != nullptr);
}

// Runs SETEX and PSETEX.
Reply set_for_a_time(CommandContext& context, std::string_view command, const ExpiryScale& scale) {
  Arguments arguments(context.request(), 2);
  const std::int64_t amount = arguments.next_integer();
  const std::int64_t expire_at_ms =
      string_expiry(arguments, command, amount, scale, context.now_ms());
  if (!arguments.ok()) return arguments.take_error();
  if (context[3].size() > context.string_bytes_max()) return errors::string_too_long();
  strings::set_until(context.db(), context.db().find(context[1]), context[1],
                     StringValue(context[3]), expire_at_ms);
  notify_set(context, context[1], true);
  return Reply::ok();
}

/// Returns true if a value among the pairs is too long. The values are every second argument.
bool has_long_value(const CommandContext& context, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; i += 2) {
    if (context[i].size() > context.string_bytes_max()) return true;
  }
  return false;
}

// Runs MSET and MSETNX.
Reply set_many(CommandContext& context, bool only_if_absent) {
  Arguments arguments(context.request());
  arguments.expect_pairs();
  if (!arguments.ok()) return arguments.take_error();
  if (has_long_value(context, 2, context.size())) return errors::string_too_long();
  for (std::size_t i = 1; only_if_absent && i < context.size(); i += 2) {
    if (context.db().find(context[i]) != nullptr) return Reply::integer(0);
  }
  while (!arguments.at_end()) {
    const std::string_view key = arguments.next();
    strings::set_until(context.db(), context.db().find(key), key, StringValue(arguments.next()),
                       kNoExpiry);
    notify_set(context, key, false);
  }
  return only_if_absent ? Reply::integer(1) : Reply::ok();
}

Reply get_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  return value_reply(object);
}

Reply set_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  const SetOptions options = read_set_options(arguments);
  const std::int64_t expire_at_ms = read_expiry(arguments, "set", options.expiry, context.now_ms());
  if (!arguments.ok()) return arguments.take_error();
  if (context[2].size() > context.string_bytes_max()) return errors::string_too_long();

  Object* object = context.db().find(context[1]);
  if (options.return_old && object != nullptr && object->type() != ValueType::kString)
    return errors::wrong_type();
  bool may_set = true;
  if (auto error = check_options(options, object, may_set)) return std::move(*error);
  Reply old = options.return_old ? value_reply(object) : Reply::nil();
  if (!may_set) return old;

  set_value(context, options, expire_at_ms, object, context[1], context[2]);
  return options.return_old ? std::move(old) : Reply::ok();
}

Reply setnx_command(CommandContext& context) {
  if (context[2].size() > context.string_bytes_max()) return errors::string_too_long();
  if (context.db().find(context[1]) != nullptr) return Reply::integer(0);
  context.db().create(context[1], StringValue(context[2]));
  notify_set(context, context[1], false);
  return Reply::integer(1);
}

Reply setex_command(CommandContext& context) {
  return set_for_a_time(context, "setex", kSecondsFromNow);
}

Reply psetex_command(CommandContext& context) {
  return set_for_a_time(context, "psetex", kMsFromNow);
}

Reply getset_command(CommandContext& context) {
  if (context[2].size() > context.string_bytes_max()) return errors::string_too_long();
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  Reply old = value_reply(object);
  strings::set_until(context.db(), object, context[1], StringValue(context[2]), kNoExpiry);
  notify_set(context, context[1], false);
  return old;
}

Reply getdel_command(CommandContext& context) {
  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  Reply old = value_reply(object);
  if (object == nullptr) return old;
  context.db().remove(*object);
  context.notify(kGenericEvents, "del", context[1]);
  return old;
}

Reply getex_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  ExpiryArgument expiry;
  bool persist = false;
  while (!arguments.at_end()) {
    if (arguments.accept("PERSIST")) {
      persist = true;
    } else if (!accept_expiry(arguments, expiry)) {
      arguments.fail(errors::syntax());
    }
  }
  if (persist && expiry.scale != nullptr) arguments.fail(errors::syntax());
  if (!arguments.ok()) return arguments.take_error();

  Object* object = nullptr;
  if (!context.find(context[1], ValueType::kString, object)) return errors::wrong_type();
  if (object == nullptr) return Reply::nil();
  const std::int64_t expire_at_ms = read_expiry(arguments, "getex", expiry, context.now_ms());
  if (!arguments.ok()) return arguments.take_error();

  Reply value = value_reply(object);
  if (expire_at_ms != kNoExpiry && expire_at_ms <= context.now_ms()) {
    context.db().remove(*object);
    context.notify(kGenericEvents, "del", context[1]);
  } else if (expire_at_ms != kNoExpiry || (persist && object->expire_at_ms() != kNoExpiry)) {
    context.db().set_expiry(*object, expire_at_ms);
    context.notify(kGenericEvents, persist ? "persist" : "expire", context[1]);
  }
  return value;
}

Reply mget_command(CommandContext& context) {
  std::vector<Reply> values;
  values.reserve(context.size() - 1);
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (std::size_t i = 1; i < context.size(); ++i) {
    Object* object = nullptr;  // null for a key of another type, which is no error here
    static_cast<void>(context.find(context[i], ValueType::kString, object));
    values.push_back(value_reply(object));
    if (!allowance.take(memory_bytes(values.back()))) return errors::reply_too_large();
  }
  return Reply::array(std::move(values));
}

Reply msetex_command(CommandContext& context) {
  Arguments arguments(context.request());
  constexpr std::int64_t kPairsMax = std::numeric_limits<std::int32_t>::max();
  const auto count = parse_int64(arguments.next());
  if (!count || *count < 1 || *count > kPairsMax) return errors::invalid_numkeys();
  const auto end = 2 + 2 * static_cast<std::size_t>(*count);
  if (end > context.size()) return errors::too_few_pairs();
  arguments.skip(end - 2);
  const SetOptions options = read_set_options(arguments);
  if (options.return_old || options.condition) arguments.fail(errors::syntax());
  const std::int64_t expire_at_ms =
      read_expiry(arguments, "msetex", options.expiry, context.now_ms());
  if (!arguments.ok()) return arguments.take_error();
  if (has_long_value(context, 3, end)) return errors::string_too_long();
  for (std::size_t i = 2; i < end; i += 2) {
    if (!allow_presence(options, context.db().find(context[i]) != nullptr))
      return Reply::integer(0);
  }
  for (std::size_t i = 2; i < end; i += 2) {
    Object* const object = context.db().find(context[i]);
    set_value(context, options, expire_at_ms, object, context[i], context[i + 1]);
  }
  return Reply::integer(1);
}

Reply mset_command(CommandContext& context) { return set_many(context, false); }

Reply msetnx_command(CommandContext& context) { return set_many(context, true); }

// ---- The records ----

unsigned set_key_flags(RequestView request) {
  const bool gets = std::ranges::any_of(request.subspan(3), [](std::string_view option) {
    return is_keyword(option, "GET") || parse_condition(option);
  });
  return gets ? key_specs::kRW | key_specs::kAccess | key_specs::kUpdate
              : key_specs::kOW | key_specs::kUpdate;
}

constexpr CommandSpec kStringCommands[] = {
    {.name = "get",
     .function = get_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Returns a string.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "set",
     .function = set_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .key_flags = set_key_flags,
     .syntax = "key value [NX | XX | IFEQ value@8.4.0 | IFNE value@8.4.0 | IFDEQ digest@8.4.0 | "
               "IFDNE digest@8.4.0] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | "
               "PXAT unix-time-milliseconds | KEEPTTL]",
     .summary = "Sets a string and replaces any value; conditions and an expiry are optional.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "setnx",
     .function = setnx_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key value",
     .summary = "Sets a string if there is no key.",
     .since = "1.0.0",
     .complexity = "O(1)"},
    {.name = "mget",
     .function = mget_command,
     .arity = -2,
     .flags = kReadOnly | kFast,
     .syntax = "key [key ...]",
     .summary = "Returns several strings.",
     .since = "1.0.0",
     .complexity = "O(N), N keys"},
    {.name = "mset",
     .function = mset_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "key value [key value ...]",
     .summary = "Sets several strings.",
     .since = "1.0.1",
     .complexity = "O(N), N keys"},
    {.name = "msetnx",
     .function = msetnx_command,
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .syntax = "key value [key value ...]",
     .summary = "Sets several strings if none of the keys is there.",
     .since = "1.0.1",
     .complexity = "O(N), N keys"},
    {.name = "msetex",
     .function = msetex_command,
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .syntax = "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT "
               "unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
     .summary = "Sets several strings with one expiry; a condition applies to all keys.",
     .since = "8.4.0",
     .complexity = "O(N), N keys"},
    {.name = "setex",
     .function = setex_command,
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .syntax = "key seconds value",
     .summary = "Sets a string that expires after some seconds.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "psetex",
     .function = psetex_command,
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .syntax = "key milliseconds value",
     .summary = "Sets a string that expires after some milliseconds.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "getset",
     .function = getset_command,
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key value",
     .summary = "Sets a string, and returns the old one.",
     .since = "1.0.0",
     .complexity = "O(1)",
     .deprecated_since = "6.2.0",
     .replaced_by = "SET with GET"},
    {.name = "getdel",
     .function = getdel_command,
     .arity = 2,
     .flags = kWrite | kFast,
     .syntax = "key",
     .summary = "Returns a string, and removes it.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "getex",
     .function = getex_command,
     .arity = -2,
     .flags = kWrite | kFast,
     .syntax = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
               "unix-time-milliseconds | PERSIST]",
     .summary = "Returns a string, and changes its expiry.",
     .since = "6.2.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily string_commands() { return {CommandGroup::kString, kStringCommands}; }

}  // namespace rushgate
