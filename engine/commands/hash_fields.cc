#include "engine/commands/hash_fields.h"

#include <utility>

#include "engine/commands/errors.h"
#include "engine/commands/field_errors.h"
#include "engine/keyspace/hashes.h"

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

std::int64_t next_field_expiry(Arguments& arguments, std::string_view command, std::int64_t unit_ms,
                               std::int64_t start_ms) {
  constexpr std::int64_t kMaxMs = (std::int64_t{1} << 46) - 1;  // in the year 4199, as in Redis
  const std::int64_t amount = arguments.next_integer();
  if (amount < 0) arguments.fail(errors::negative_expire_time());
  if (amount > kMaxMs / unit_ms || amount * unit_ms > kMaxMs - start_ms)
    arguments.fail(errors::invalid_expire_time(command));
  return arguments.ok() ? amount * unit_ms + start_ms : 0;
}

bool remove_field(CommandContext& context, Object*& hash, std::string_view field) {
  if (hash == nullptr) return false;
  const bool is_only_field = hash->hash().size() == 1;
  if (!hashes::remove(context.db(), *hash, field)) return false;
  if (is_only_field) hash = nullptr;
  return true;
}

}  // namespace rushgate
