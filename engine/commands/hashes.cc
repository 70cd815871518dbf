// Commands on hashes: https://redis.io/docs/latest/commands/?group=hash
#include "engine/keyspace/hashes.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"

namespace rushgate {
namespace {

/// The value of `field`; nil if there is no such field, or no hash.
Reply field_reply(Object* hash, std::string_view field) {
  if (hash == nullptr) return Reply::nil();
  auto value = hash->hash().find(field);
  return value ? Reply::bulk(std::move(*value)) : Reply::nil();
}

}  // namespace

// HGET key field
Reply hget_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return field_reply(hash, context[2]);
}

// HSET key field value [field value ...]
Reply hset_command(CommandContext& context) {
  Arguments arguments(context.request(), 2);
  arguments.expect_pairs();
  if (!arguments.ok()) return arguments.take_error();
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();

  if (hash == nullptr) hash = &hashes::create(context.db(), context[1]);
  std::int64_t added = 0;
  while (!arguments.at_end()) {
    const std::string_view field = arguments.next();
    if (hashes::set(context.db(), *hash, field, arguments.next())) ++added;
  }
  return Reply::integer(added);
}

// HMGET key field [field ...]
Reply hmget_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  std::vector<Reply> values;
  values.reserve(context.size() - 2);
  for (std::size_t i = 2; i < context.size(); ++i) values.push_back(field_reply(hash, context[i]));
  return Reply::array(std::move(values));
}

// HGETALL key
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

// HINCRBY key field increment
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
  hashes::set(context.db(), *hash, field, DecimalText(*sum));
  return Reply::integer(*sum);
}

// HDEL key field [field ...]
Reply hdel_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  if (hash == nullptr) return Reply::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < context.size(); ++i) {
    const bool is_last = hash->hash().size() == 1;
    if (!hashes::remove(context.db(), *hash, context[i])) continue;
    ++removed;
    if (is_last) break;  // the key went with it
  }
  return Reply::integer(removed);
}

// HLEN key
Reply hlen_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return Reply::integer(hash == nullptr ? 0 : static_cast<std::int64_t>(hash->hash().size()));
}

// HEXISTS key field
Reply hexists_command(CommandContext& context) {
  Object* hash = nullptr;
  if (!context.find(context[1], ValueType::kHash, hash)) return errors::wrong_type();
  return Reply::integer(hash != nullptr && hash->hash().contains(context[2]) ? 1 : 0);
}

}  // namespace rushgate
