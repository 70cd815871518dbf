// Commands on hashes: https://redis.io/docs/latest/commands/?group=hash
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/drawing.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/hash_fields.h"
#include "engine/redis/commands/reply_allowance.h"
#include "engine/redis/keyspace/hashes.h"

namespace rushgate {
namespace {

/// For HSET and HMSET. Sets the fields and sets `added` to the number of new ones; on an error
/// changes nothing and returns it.
std::optional<Reply> set_fields(CommandContext& context, std::int64_t& added) {
  Arguments arguments(context.request(), 2);
  arguments.expect_pairs();
  if (!arguments.ok()) return arguments.take_error();
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();

  if (hash == nullptr) hash = &hashes::create(context.db(), context[1]);
  while (!arguments.at_end()) {
    const std::string_view field = arguments.next();
    if (hashes::set(context.db(), *hash, field, arguments.next())) ++added;
  }
  context.notify(kHashEvents, "hset", context[1]);
  return std::nullopt;
}

/// For HKEYS and HVALS: returns the part of each field that `choose` selects.
template <class Choose>
Reply list_fields(CommandContext& context, Choose choose) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::array();
  std::vector<Reply> chosen;
  chosen.reserve(hash->hash().size());
  hash->hash().for_each([&](std::string_view field, std::string_view value) {
    chosen.push_back(Reply::bulk(choose(field, value)));
  });
  return Reply::array(std::move(chosen));
}

// ---- HRANDFIELD ----

/// Returns fields, or fields and values: flat, in RESP3 as pairs.
Reply drawn_reply(const CommandContext& context, const HashValue& hash,
                  const std::vector<std::string>& fields, bool with_values) {
  std::vector<Reply> reply;
  ReplyAllowance allowance(context.session().reply_bytes_max);
  reply.reserve(with_values && !context.resp3() ? 2 * fields.size() : fields.size());
  for (const std::string& field : fields) {
    if (!with_values) {
      reply.push_back(Reply::bulk(field));
      continue;
    }
    std::vector<Reply> pair;
    std::vector<Reply>& to = context.resp3() ? pair : reply;
    to.push_back(Reply::bulk(field));
    to.push_back(Reply::bulk(*hash.find(field)));
    if (!allowance.take(memory_bytes(to.back()))) return errors::reply_too_large();
    if (context.resp3()) reply.push_back(Reply::array(std::move(pair)));
  }
  return Reply::array(std::move(reply));
}

Reply draw_fields(CommandContext& context) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Arguments arguments(context.request(), 2);
  const std::int64_t count = arguments.next_integer(-kMax, kMax);
  const bool with_values = arguments.accept("WITHVALUES");
  if (!arguments.at_end()) arguments.fail(errors::syntax());
  if (with_values && (count < -kMax / 2 || count > kMax / 2))
    arguments.fail(errors::value_out_of_range());
  if (!arguments.ok()) return arguments.take_error();

  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::array();
  if (count < -kDrawsMax) return errors::value_out_of_range();
  const auto fields =
      draw(hash->hash(), count, context.keyspace().random(), context.session().reply_bytes_max);
  if (!fields) return errors::reply_too_large();
  return drawn_reply(context, hash->hash(), *fields, with_values);
}

Reply hget_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return field_reply(hash, context[2]);
}

Reply hset_command(CommandContext& context) {
  std::int64_t added = 0;
  if (auto error = set_fields(context, added)) return std::move(*error);
  return Reply::integer(added);
}

Reply hmset_command(CommandContext& context) {
  std::int64_t added = 0;
  if (auto error = set_fields(context, added)) return std::move(*error);
  return Reply::ok();
}

Reply hsetnx_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash != nullptr && hash->hash().contains(context[2])) return Reply::integer(0);
  if (hash == nullptr) hash = &hashes::create(context.db(), context[1]);
  hashes::set(context.db(), *hash, context[2], context[3]);
  context.notify(kHashEvents, "hset", context[1]);
  return Reply::integer(1);
}

Reply hmget_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  std::vector<Reply> values;
  values.reserve(context.size() - 2);
  ReplyAllowance allowance(context.session().reply_bytes_max);
  for (std::size_t i = 2; i < context.size(); ++i) {
    values.push_back(field_reply(hash, context[i]));
    if (!allowance.take(memory_bytes(values.back()))) return errors::reply_too_large();
  }
  return Reply::array(std::move(values));
}

Reply hgetall_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::map();
  std::vector<Reply> fields_and_values;
  fields_and_values.reserve(2 * hash->hash().size());
  hash->hash().for_each([&](std::string_view field, std::string_view value) {
    fields_and_values.push_back(Reply::bulk(field));
    fields_and_values.push_back(Reply::bulk(value));
  });
  return Reply::map(std::move(fields_and_values));
}

Reply hincrby_command(CommandContext& context) {
  const auto amount = parse_int64(context[3]);
  if (!amount) return errors::not_an_integer();
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();

  const std::string_view field = context[2];
  std::int64_t current = 0;
  if (hash != nullptr) {
    const auto integer = hash->hash().find_integer(field);
    if (!integer && hash->hash().contains(field)) return errors::hash_value_not_an_integer();
    current = integer.value_or(0);
  }
  const auto sum = checked_add(current, *amount);
  if (!sum) return errors::overflow();
  if (hash == nullptr) hash = &hashes::create(context.db(), context[1]);
  hashes::set_keeping_expiry(context.db(), *hash, field, DecimalText(*sum));
  context.notify(kHashEvents, "hincrby", context[1]);
  return Reply::integer(*sum);
}

Reply hincrbyfloat_command(CommandContext& context) {
  const auto amount = parse_long_double(context[3]);
  if (!amount) return errors::not_a_float();
  if (!std::isfinite(*amount)) return errors::increment_not_finite();
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();

  const auto value = hash == nullptr ? std::nullopt : hash->hash().find(context[2]);
  const auto current = value ? parse_long_double(*value) : std::optional(0.0L);
  if (!current) return errors::hash_value_not_a_float();
  const long double sum = *current + *amount;
  if (!std::isfinite(sum)) return errors::not_finite();
  if (hash == nullptr) hash = &hashes::create(context.db(), context[1]);
  std::string text = format_long_double(sum);
  hashes::set_keeping_expiry(context.db(), *hash, context[2], text);
  context.notify(kHashEvents, "hincrbyfloat", context[1]);
  return Reply::bulk(std::move(text));
}

Reply hdel_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    if (!hashes::remove(context.db(), *hash, context[i])) continue;
    ++removed;
    if (!hash->attached) break;  // the last field: the key is gone
  }
  if (removed > 0) {
    context.notify(kHashEvents, "hdel", context[1]);
    context.notify_if_removed(context[1]);
  }
  return Reply::integer(removed);
}

Reply hlen_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return Reply::integer(hash == nullptr ? 0 : static_cast<std::int64_t>(hash->hash().size()));
}

Reply hexists_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return Reply::integer(hash != nullptr && hash->hash().contains(context[2]) ? 1 : 0);
}

Reply hstrlen_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  const auto value = hash == nullptr ? std::nullopt : hash->hash().find(context[2]);
  return Reply::integer(value ? static_cast<std::int64_t>(value->size()) : 0);
}

Reply hkeys_command(CommandContext& context) {
  return list_fields(context, [](std::string_view field, std::string_view) { return field; });
}

Reply hvals_command(CommandContext& context) {
  return list_fields(context, [](std::string_view, std::string_view value) { return value; });
}

Reply hrandfield_command(CommandContext& context) {
  if (context.size() > 2) return draw_fields(context);
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::nil();
  return Reply::bulk(hash->hash().draw(context.keyspace().random()));
}

// ---- The records ----

constexpr CommandSpec kHashCommands[] = {
    {.name = "hget",
     .function = hget_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key field",
     .summary = "Returns the value of a field.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "hset",
     .function = hset_command,
     .arity = -4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key field value [field value ...]",
     .summary = "Sets fields of a hash.",
     .since = "2.0.0",
     .complexity = "O(N), N fields"},
    {.name = "hmget",
     .function = hmget_command,
     .arity = -3,
     .flags = kReadOnly | kFast,
     .syntax = "key field [field ...]",
     .summary = "Returns the values of several fields.",
     .since = "2.0.0",
     .complexity = "O(N), N fields"},
    {.name = "hgetall",
     .function = hgetall_command,
     .arity = 2,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns all fields and values.",
     .since = "2.0.0",
     .complexity = "O(N), N fields of the hash"},
    {.name = "hincrby",
     .function = hincrby_command,
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key field increment",
     .summary = "Adds to an integer in a field.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "hdel",
     .function = hdel_command,
     .arity = -3,
     .flags = kWrite | kFast,
     .syntax = "key field [field ...]",
     .summary = "Removes fields.",
     .since = "2.0.0",
     .complexity = "O(N), N fields to remove"},
    {.name = "hlen",
     .function = hlen_command,
     .arity = 2,
     .flags = kReadOnly | kFast,
     .syntax = "key",
     .summary = "Counts the fields.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "hexists",
     .function = hexists_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key field",
     .summary = "Returns 1 if a field exists.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "hsetnx",
     .function = hsetnx_command,
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key field value",
     .summary = "Sets a field that does not exist yet.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "hmset",
     .function = hmset_command,
     .arity = -4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key field value [field value ...]",
     .summary = "Sets fields of a hash.",
     .since = "2.0.0",
     .complexity = "O(N), N fields",
     .deprecated_since = "4.0.0",
     .replaced_by = "HSET"},
    {.name = "hincrbyfloat",
     .function = hincrbyfloat_command,
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .syntax = "key field increment",
     .summary = "Adds a floating-point number to a number in a field.",
     .since = "2.6.0",
     .complexity = "O(1)"},
    {.name = "hkeys",
     .function = hkeys_command,
     .arity = 2,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns all fields.",
     .since = "2.0.0",
     .complexity = "O(N), N fields of the hash"},
    {.name = "hvals",
     .function = hvals_command,
     .arity = 2,
     .flags = kReadOnly,
     .syntax = "key",
     .summary = "Returns all values.",
     .since = "2.0.0",
     .complexity = "O(N), N fields of the hash"},
    {.name = "hstrlen",
     .function = hstrlen_command,
     .arity = 3,
     .flags = kReadOnly | kFast,
     .syntax = "key field",
     .summary = "Returns the length of a field's value.",
     .since = "3.2.0",
     .complexity = "O(1)"},
    {.name = "hrandfield",
     .function = hrandfield_command,
     .arity = -2,
     .flags = kReadOnly,
     .syntax = "key [count [WITHVALUES]]",
     .summary = "Returns random fields.",
     .since = "6.2.0",
     .complexity = "O(N), N fields returned"},
};

}  // namespace

CommandFamily hash_commands() { return {CommandGroup::kHash, kHashCommands}; }

}  // namespace rushgate
