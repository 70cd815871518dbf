#include "engine/redis/commands/hash_fields.h"

#include <utility>

#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/field_errors.h"
#include "engine/redis/keyspace/hashes.h"

namespace rushgate {

Reply field_reply(Object* hash, std::string_view field) {
  if (hash == nullptr) return Reply::nil();
  auto value = hash->hash().find(field);
  return value ? Reply::bulk(std::move(*value)) : Reply::nil();
}

void expect_fields(Arguments& arguments, Reply not_positive) {
  if (!arguments.accept("FIELDS")) arguments.fail(errors::fields_missing());
  const std::int64_t count = arguments.next_at_least(1, std::move(not_positive));
  if (arguments.ok() && static_cast<std::uint64_t>(count) != arguments.left())
    arguments.fail(errors::wrong_number_of_fields());
}

bool remove_field(CommandContext& context, Object*& hash, std::string_view field) {
  if (hash == nullptr) return false;
  if (!hashes::remove(context.db(), *hash, field)) return false;
  if (!hash->attached) hash = nullptr;  // it was the only field
  return true;
}

}  // namespace rushgate
